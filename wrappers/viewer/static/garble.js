"use strict";
// Garble: the air, the tickets, the tape, the seats and their scores.

function prices() {
  const turns = story.curve.length;
  return chart({
    label: `Prices by turn: ${story.commodities.map((name, good) => `${name} ${story.prices.map((row) => row[good]).join(" ")}`).join("; ")}`,
    lines: story.commodities.map((name, good) => ({
      name: `${name} 00`, text: (k) => `${name} ${story.prices[k][good]}`, color: color(good),
      values: story.prices.map((row) => row[good]), dash: ["none", "7 3", "2 3", "9 3 2 3"][good],
    })),
    length: turns, low: 0, height: 170, first: 1, slots: true,
  });
}

function scores() {
  const all = story.frames.map((frame) => frame.accounts.map((held) => held.score));
  return chart({
    label: `Scores by turn, at the end: ${story.aliases.map((name, seat) => `${name} ${all[last][seat].toFixed(3)}`).join(", ")}`,
    lines: story.aliases.map((name, seat) => ({
      name: `${name} 0.00`, text: (k) => `${name} ${all[k][seat].toFixed(2)}`,
      values: all.map((row) => row[seat]), color: color(seat),
    })),
    length: story.frames.length, low: 0, height: 170,
  });
}

// What is to be known of a ticket on a turn, or null if it is not there.
function standing(ticket, turn) {
  if (ticket.turn > turn || turn >= ticket.expires) return null;
  if (ticket.settled === turn) {
    const row = story.tape.find((deal) => deal.ticket === ticket.number);
    return row.misheard ? ["misheard", "misheard"] : ["settled", "settled"];
  }
  if (ticket.settled !== null && ticket.settled < turn) return null;
  const mark = ticket.turn === turn ? ", new" : turn === ticket.expires - 1 ? ", now" : "";
  return ["", `turn ${ticket.expires}${mark}`];
}

function tickets(turn) {
  const rows = story.tickets.map((ticket) => [ticket, standing(ticket, turn)]).filter(([, now]) => now).reverse();
  if (!rows.length) return el("p", { class: "soft" }, "No ticket is open.");
  return table("Open tickets", ["ticket", "by", "terms", "open until"], rows.map(([ticket, [stamp, text]]) => [
    `#${ticket.number}`,
    el("span", { class: "solid" }, key(ticket.seat), story.aliases[ticket.seat]),
    el("span", { class: "mono" }, ticket.terms, ticket.channel === "radio" ? "" : ` (${ticket.channel})`),
    stamp ? el("span", { class: `stamp ${stamp}` }, text) : text,
  ]));
}

function contract([good, premium, quota], units) {
  const held = units[story.commodities.indexOf(good)];
  return el("div", { class: "wants" },
    el("span", {}, "wants ", el("b", {}, good), `, +${premium} each: `, el("b", {}, `${held} of ${quota}`)),
    el("meter", { min: 0, max: quota, value: Math.min(held, quota), "aria-label": `${good} held of the quota` }));
}

function account(held, seat, before) {
  return el("article", { class: "card seat" },
    el("h3", {}, key(seat), story.aliases[seat], " ", theirs(story.policies[seat])),
    el("p", { class: "score" }, el("b", {}, held.score.toFixed(3)), " score",
      held.score === before.score ? null : el("span", { class: direction(held.score - before.score) }, ` ${signed(held.score - before.score, 3)}`)),
    facts(fact("cash", held.cash), ...story.commodities.map((name, good) => fact(name, held.units[good]))),
    contract(story.contracts[seat], held.units),
    el("div", { class: "wants" },
      el("span", {}, "airtime left: ", el("b", {}, `${held.airtime} of ${story.airtime}`)),
      el("meter", { min: 0, max: story.airtime, value: held.airtime, "aria-label": "airtime left" })),
    facts(fact("deals", held.counts[0]), fact("misheard", held.counts[1]), fact("void", held.counts[2])));
}

// A deal as it stands on the tape: said over confirmed, what differs marked.
function deal(row, fresh) {
  const verb = row.side === "SELL" ? "sells to" : "buys from";
  const names = ["qty", "commodity", "price"];
  const version = (title, side, mark) => el("tr", {}, el("th", { scope: "row" }, title), ...names.map((name) =>
    el("td", mark && row.said[name] !== row.confirmed[name] ? { class: "swapped" } : {}, `${name === "price" ? "AT " : ""}${side[name]}`)));
  return el("article", { class: `card deal${fresh ? " now" : ""}` },
    el("span", { class: `stamp ${row.misheard ? "misheard" : "settled"}` }, row.misheard ? "misheard" : "settled"),
    el("h3", {}, `turn ${row.turn + 1}, #${row.ticket}`),
    el("p", {}, key(row.offerer), `${story.aliases[row.offerer]} ${verb} `, key(row.confirmer), story.aliases[row.confirmer]),
    el("table", { class: "words" }, el("tbody", {}, version("SAID", row.said, false), version("CONFIRMED", row.confirmed, true))),
    el("p", { class: "soft" }, row.partial
      ? `${row.fill} of ${row.confirmed.qty} units change hands: no more goods or cash`
      : `${row.fill} units change hands`));
}

function quiet(lines) {
  if (!lines.length) return "";
  return el("p", { class: "soft" }, "Nothing from ", ...lines.flatMap((line, k) => [k ? ", " : "", key(line.sender), story.aliases[line.sender]]), ".");
}

function outcome() {
  const { scores: points, deals, misheard, voids, cash } = story.results;
  const best = Math.max(...points);
  return panel("Results",
    table("Results", ["seat", "score", "cash", "deals", "misheard", "void"], story.aliases.map((alias, seat) => [
      el("span", {}, key(seat), alias, " ", theirs(story.policies[seat])),
      el("b", points[seat] === best ? { class: "up" } : {}, points[seat].toFixed(4)), cash[seat], deals[seat], misheard[seat], voids[seat]])),
    el("p", { class: "soft" }, `1 is what a seat has without a deal. Ended: ${story.results.reason}.`));
}

game = {
  beats: "a confirm",
  build(stage) {
    this.weather = weather();
    this.scores = scores();
    this.prices = prices();
    const box = (name) => { this[name] = el("div", { class: name }); return this[name]; };
    this.sky = el("span", {});
    stage.append(
      box("results"),
      el("div", { class: "split three" },
        el("section", { "aria-label": "Interference" }, el("h2", {}, "Interference ", this.sky), this.weather.node,
          el("p", { class: "legend" }, "dashes: the published forecast; a bolt: a burst")),
        panel("Scores", this.scores.node),
        panel("Prices", this.prices.node)),
      el("div", { class: "split", style: "--left: 2fr" },
        el("section", { "aria-label": "On the air" }, el("h2", {}, "On the air"),
          legend(
            [el("span", { class: "swapped" }, "word"), " heard as another"],
            [el("span", { class: "missing" }, GAP), " lost"],
            ["\u2713 heard as said"]),
          box("air")),
        el("section", { "aria-label": "Open tickets" }, el("h2", {}, "Open tickets, as they were said"),
          box("tickets"), el("p", { class: "soft" }, "\u00D72: said twice. Only a word said once can be confirmed as another."))),
      panel("Seats", box("seats")),
      panel("Tape: every deal, newest first", box("tape")));
    this.air.classList.add("grid");
    this.air.style.setProperty("--least", "330px");
    this.seats.classList.add("grid", "fit");
    this.seats.style.setProperty("--least", "210px");
    this.tape.classList.add("grid");
    this.tape.style.setProperty("--least", "230px");
  },
  show(frame, index) {
    const { turn } = frame;
    this.weather.at(turn);
    this.prices.at(Math.max(0, turn));
    this.scores.at(index);
    this.sky.textContent = turn < 0 ? "" : `\u00B7 ${skies[skyOf(story.interference[turn])][0]}${story.bursts[turn] ? ", a burst" : ""} (${story.interference[turn]})`;
    const across = Math.max(1, Math.floor((this.air.clientWidth + 10) / 340));
    const room = Math.floor((this.air.clientWidth / across - 36) / 7.9);
    this.air.replaceChildren(...(frame.lines.length
      ? [...frame.lines.filter((line) => !idle(line)).map((line) => traffic(line, room)), quiet(frame.lines.filter(idle))]
      : [el("p", { class: "soft" }, "Nothing yet: every seat has its goods and its contract.")]));
    this.tickets.replaceChildren(tickets(turn));
    const before = story.frames[Math.max(0, index - 1)].accounts;
    this.seats.replaceChildren(...frame.accounts.map((held, seat) => account(held, seat, before[seat])));
    const done = story.tape.filter((row) => row.turn <= turn).reverse();
    this.tape.replaceChildren(...(done.length ? done.map((row) => deal(row, row.turn === turn)) : [el("p", { class: "soft" }, "No deal yet.")]));
    this.results.replaceChildren(...(index === last ? [outcome()] : []));
  },
  tell(frame) {
    const confirms = frame.lines.filter((line) => line.verdict)
      .map((line) => `${story.aliases[line.sender]} confirms ${line.confirm}`);
    return `${frame.label}. ${confirms.join(". ") || (frame.turn < 0 ? "Five seats, a contract each" : "Nobody confirms")}.`;
  },
};
