"use strict";
// Garble: the air as it was said and as each seat heard it, the book, the accounts.

const weather = ["var(--c2)", "var(--c4)", "var(--c1)", "var(--wrong)"];

function forecast(turn) {
  const turns = story.curve.length;
  const bars = (x, y, height) => story.interference.slice(0, turn + 1).flatMap((noise, k) => {
    const band = weather[Math.min(3, Math.floor(noise / 0.25))];
    const wide = Math.max(3, 300 / turns);
    const parts = [svg("rect", { x: x(k) - wide / 2, y: y(noise), width: wide, height: Math.max(1, height - 8 - y(noise)), fill: band, opacity: 0.75 })];
    if (story.bursts[k]) {
      const bolt = svg("text", { x: x(k), y: Math.max(12, y(noise) - 2), "text-anchor": "middle" });
      bolt.textContent = "\u26A1";
      parts.push(bolt);
    }
    return parts;
  });
  const bursts = story.bursts.slice(0, turn + 1).filter(Boolean).length;
  const label = `Interference by turn, from 0 to 1; ${bursts} bursts so far`;
  return chart(label, [{ values: story.curve, color: "var(--soft)", dash: "4 4" }], turns, { low: 0, high: 1, marks: [bars], now: turn });
}

function prices(turn) {
  const turns = story.curve.length;
  const lines = story.commodities.map((_, good) => ({
    values: Array.from({ length: turns }, (_, k) => (k <= Math.max(0, turn) ? story.prices[k][good] : null)),
    color: color(good),
  }));
  const now = story.prices[Math.max(0, turn)];
  return [
    chart("Prices by turn", lines, turns, { now: turn, low: 0, high: Math.max(...story.prices.flat()) }),
    facts(...story.commodities.map((name, good) => el("span", {}, key(good), `${name} `, el("b", {}, now[good])))),
  ];
}

function scores(index) {
  const length = story.frames.length;
  const all = story.frames.map((frame) => frame.accounts.map((account) => account.score));
  const lines = story.aliases.map((_, seat) => ({ values: until(all.map((row) => row[seat]), index + 1), color: color(seat) }));
  return chart("Scores by turn", lines, length, { low: 0, high: Math.max(1, ...all.flat()), now: index, wide: true });
}

function heardAs(words) {
  return el("dd", {}, ...words.flatMap(([word, how], k) => {
    const gap = k ? [" "] : [];
    if (how === 0) return [...gap, word];
    const label = how === 2 ? "lost" : "heard as another word";
    return [...gap, el("span", { class: how === 2 ? "missing" : "swapped", title: label }, word)];
  }));
}

function traffic(line) {
  const rows = [];
  if (line.said.length) rows.push(el("dt", {}, "SAID"), el("dd", {}, line.said.join(" ")));
  for (const [to, words] of line.heard) rows.push(el("dt", {}, `HEARD ${story.aliases[to]}`), heardAs(words));
  return el("article", { class: "card" },
    el("h3", {}, key(line.sender), story.aliases[line.sender], line.fallback ? " (fallback)" : ""),
    el("p", { class: "soft" }, line.head),
    rows.length ? el("dl", { class: "words" }, ...rows) : null,
    line.confirm ? el("p", {}, `confirms ${line.confirm} `, el("span", { class: `stamp ${line.verdict}` }, line.verdict)) : null,
    line.notes ? el("p", { class: "soft" }, `notes: ${line.notes}`) : null);
}

function account(held, seat) {
  return el("article", { class: "card" },
    el("h3", {}, key(seat), `${story.aliases[seat]} \u00B7 ${story.policies[seat]}`),
    facts(
      fact("score", held.score.toFixed(3)), fact("cash", held.cash), fact("needs", story.contracts[seat]),
      ...story.commodities.map((name, good) => fact(name, held.units[good])),
      fact("airtime", held.airtime),
      ...(held.counts ? [fact("deals", held.counts[0]), fact("misheard", held.counts[1]), fact("voids", held.counts[2])] : [])));
}

function deal(row) {
  const terms = (side) => `${side.qty} ${side.commodity} AT ${side.price}`;
  const verb = row.side === "SELL" ? "sells to" : "buys from";
  return el("article", { class: "card" },
    el("h3", {}, `turn ${row.turn + 1}, ticket ${row.ticket}`),
    el("p", {}, `${story.aliases[row.offerer]} ${verb} ${story.aliases[row.confirmer]}: ${row.fill} units${row.partial ? ", partial" : ""}`),
    row.misheard
      ? el("p", {}, el("span", { class: "stamp misheard" }, "misheard"), ` said ${terms(row.said)}, confirmed ${terms(row.confirmed)}`)
      : el("p", {}, el("span", { class: "stamp settled" }, "settled"), ` ${terms(row.confirmed)}`));
}

function outcome() {
  const { scores: points, deals, misheard, voids, cash } = story.results;
  return section("Results",
    table(["seat", "policy", "score", "cash", "deals", "misheard", "voids"],
      story.aliases.map((alias, seat) => [alias, story.policies[seat], points[seat].toFixed(4), cash[seat], deals[seat], misheard[seat], voids[seat]])),
    el("p", { class: "soft" }, `ended: ${story.results.reason}`));
}

game = {
  draw(frame, index, stage) {
    const deals = story.tape.filter((row) => row.turn <= frame.turn);
    stage.append(
      el("div", { class: "two" },
        section(`Interference${frame.band ? `: ${frame.band}` : ""}`, forecast(frame.turn)),
        section("Prices", ...prices(frame.turn))),
      section(frame.turn < 0 ? "On the air: nothing yet" : `On the air, turn ${frame.turn + 1}`,
        el("div", { class: "grid", style: "--least: 330px" }, ...frame.lines.map(traffic))),
      section("Seats", scores(index), el("div", { class: "grid" }, ...frame.accounts.map(account))),
      section(`Tape: ${deals.length} deals`, el("div", { class: "grid" }, ...deals.reverse().map(deal))),
      ...(index === story.frames.length - 1 ? [outcome()] : []));
  },
};
