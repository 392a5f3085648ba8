"use strict";
// The poker ladder: the table, the pair of hands side by side, the audit.

const suits = { s: "\u2660\uFE0E", h: "\u2665\uFE0E", d: "\u2666\uFE0E", c: "\u2663\uFE0E" };
const suitNames = { s: "spades", h: "hearts", d: "diamonds", c: "clubs" };

function card(name) {
  if (!name) return el("span", { class: "playing-card blank", "aria-label": "not dealt" }, "\u00B7");
  const [rank, suit] = name;
  const style = suit === "h" || suit === "d" ? "playing-card red" : "playing-card";
  return el("span", { class: style, role: "img", "aria-label": `${rank} of ${suitNames[suit]}` }, rank + suits[suit]);
}

function cards(names) {
  return el("span", { class: "cards" }, ...names.map(card));
}

function called(seat) {
  return `seat_${seat} \u00B7 ${story.policies[seat]}`;
}

function player(held, frame) {
  const acted = frame.seat === held.seat;
  const waits = held.marks.includes("to act");
  return el("article", { class: `card${waits ? " now" : ""}${held.folded || !held.cards.length ? " out" : ""}` },
    el("h3", {}, key(held.seat), called(held.seat)),
    held.cards.length ? cards(held.cards) : null,
    facts(fact("stack", held.stack), fact("bet", held.bet),
      fact("net", signed(held.net), held.net > 0 ? "up" : held.net < 0 ? "down" : "")),
    held.marks.length ? el("p", {}, held.marks.join(", ")) : null,
    acted && frame.by && frame.by !== "seat" ? el("p", { class: "soft" }, `by ${frame.by}`) : null,
    acted && frame.say ? el("p", { class: "say" }, `\u201C${frame.say}\u201D`) : null);
}

function hand(dealt, now) {
  const rows = dealt.seats.map((seat, place) => [
    called(seat), dealt.hole[place].replaceAll(/([cdhs])/g, (suit) => suits[suit]),
    dealt.net ? signed(dealt.net[place]) : "voided",
  ]);
  const told = dealt.told.map(([seat, kind, to]) =>
    `seat_${seat} ${kind}s${kind === "bet" || kind === "raise" ? ` to ${to}` : ""}`).join(", ");
  return el("article", { class: `card${now ? " now" : ""}` },
    el("h3", {}, `hand ${dealt.hand + 1}${dealt.mirror ? ", the mirror" : ""}`),
    dealt.board ? cards(dealt.board.split(" ")) : null,
    table(["seat", "cards", "net"], rows),
    el("p", { class: "soft" }, told));
}

function pair(frame) {
  const live = story.hands[frame.hand];
  const both = story.hands.filter((dealt) => dealt.deal === live.deal);
  const title = both.length > 1 ? "The duplicate pair, each whole" : "This hand, whole";
  return section(title, el("div", { class: "two" }, ...both.map((dealt) => hand(dealt, dealt.hand === frame.hand))));
}

function heat(value, most) {
  const share = Math.min(1, Math.abs(value) / most);
  const mixed = `color-mix(in srgb, ${value > 0 ? "var(--wrong)" : "var(--c0)"} ${Math.round(55 * share)}%, transparent)`;
  return el("span", { style: `background: ${mixed}; display: block; padding: 0 4px` }, signed(value, 2));
}

function audit() {
  const found = story.results.audit;
  if (!found) return null;
  const seats = found.bias.map((_, seat) => `seat_${seat}`);
  const rows = found.bias.map((row, a) => [seats[a], ...row.map((value, b) => (a === b ? "" : heat(value, 4)))]);
  return section("Audit: what a row's seat gave up to a column's seat, chips a contested hand above its field",
    table(["", ...seats], rows),
    el("p", {}, found.flags.length ? `flags: ${found.flags.join(", ")}` : "no flag"),
    el("p", { class: "soft" }, `${found.power.hands} hands, ${found.power.contested_min} to ${found.power.contested_median} contested by a pair of seats (least, median), ${found.power.equity_samples} runouts a fold`));
}

function outcome() {
  const { results } = story;
  const rows = results.scores.map((score, seat) => [
    called(seat), score.toFixed(4), signed(results.net[seat]),
    results.units_per_hand[seat] === null ? "" : signed(results.units_per_hand[seat], 3),
    results.hands_won[seat], results.fallbacks[seat],
    results.exploitability && results.exploitability[seat] !== null ? results.exploitability[seat].toFixed(4) : "",
  ]);
  return section("Results",
    table(["seat", "score", "net", "units a hand", "hands won", "fallbacks", "exploitability"], rows),
    el("p", { class: "soft" }, `ended: ${results.reason}; ${results.hands_scored} hands scored`));
}

game = {
  draw(frame, index, stage) {
    const last = frame.told.length ? frame.told[frame.told.length - 1] : null;
    const nets = Array.from({ length: story.policies.length }, (_, seat) => ({
      values: until(story.frames.map((moment) => moment.players.find((held) => held.seat === seat).net), index + 1),
      color: color(seat),
    }));
    stage.append(
      el("section", { class: "felt" },
        el("h2", {}, `${frame.label}, ${frame.street}`),
        el("p", {}, frame.board.length ? cards(frame.board) : "no board", " ", el("b", {}, `pot ${frame.pot}`)),
        el("p", {}, last ? `seat_${last[1]} ${last[2]}` : "the deal"),
        el("div", { class: "grid" }, ...frame.players.map((held) => player(held, frame)))),
      pair(frame),
      section("Net chips", chart("Net chips of every seat", nets, story.frames.length, { now: index, wide: true })),
      ...(index === story.frames.length - 1 ? [outcome(), audit()].filter(Boolean) : []));
  },
};
