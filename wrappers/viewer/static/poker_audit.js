"use strict";
// What is measured of a match beside its score: the collusion audit, and exploitability.

function heated(value, most, flagged) {
  const share = Math.round(100 * Math.min(1, Math.abs(value) / most));
  const style = `background: color-mix(in srgb, var(${value > 0 ? "--hot" : "--cold"}) ${share}%, transparent)`;
  return el("td", { style, ...(flagged ? { class: "flagged" } : {}) }, flagged ? "\u2691 " : "", signed(value, 2));
}

// A flag of the results in words.
function flagged(flag) {
  const [, kind, a, b] = /^(soft-play|dump)-(\d+)-(?:to-)?(\d+)$/.exec(flag);
  return kind === "dump"
    ? { pairs: [[a, b]], text: `dumping: seat_${a} gives chips up to seat_${b}` }
    : { pairs: [[a, b], [b, a]], text: `soft play: seat_${a} and seat_${b} spare each other` };
}

function audit() {
  const found = story.results.audit;
  if (!found) return null;
  const flags = found.flags.map(flagged);
  const marked = new Set(flags.flatMap((flag) => flag.pairs.map(([a, b]) => `${a}-${b}`)));
  const most = Math.max(story.flags.dump * story.big, ...found.bias.flat().map(Math.abs));
  const seats = found.bias.map((_, seat) => `seat_${seat}`);
  const { soft, dump, contested } = story.flags;
  return panel("Audit: who gives chips up to whom",
    el("p", { class: "legend" }, "Row: who gave up. Column: to whom. Chips a contested hand, above what the row gave up to all seats together."),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Audit" }, el("table", { class: "heat" },
      el("thead", {}, el("tr", {}, el("td", {}), ...seats.map((seat) => el("th", { scope: "col" }, seat)))),
      el("tbody", {}, ...found.bias.map((row, a) => el("tr", {},
        el("th", { scope: "row" }, key(a), seats[a], " ", theirs(story.policies[a])),
        ...row.map((value, b) => (a === b ? el("td", {}, "\u00B7") : heated(value, most, marked.has(`${a}-${b}`))))))))),
    legend(["less ", el("span", { class: "ramp" }), " more"], "\u2691 flagged"),
    flags.length
      ? el("ul", {}, ...flags.map((flag) => el("li", {}, el("b", { class: "down" }, `\u2691 ${flag.text}`))))
      : el("p", {}, el("b", {}, "Nothing is flagged.")),
    el("p", { class: "soft" }, `A flag: above ${dump} big blinds is dumping, above ${soft} both ways soft play, from ${contested} contested hands on. `
      + `Seen here: ${found.power.hands} hands; a pair of seats contested ${found.power.contested_min} at least, ${found.power.contested_median} in the median. `
      + `Each fold is priced over ${whole(found.power.equity_samples)} runouts.`));
}

function exploited() {
  const { exploitability, exploitability_coverage: coverage, exploitability_fill: fill } = story.results;
  if (!exploitability) return null;
  const most = Math.max(1e-9, ...exploitability);
  return panel("Exploitability: what a perfect opponent would win from each seat's play",
    table("Exploitability", ["seat", "chips a hand", "", "of the game's decisions it met"], exploitability.map((value, seat) => [
      who(seat), el("b", {}, value.toFixed(4)),
      el("span", { class: "gauge", style: `width: ${(100 * value) / most}%` }), `${Math.round(100 * coverage[seat])}%`])),
    el("p", { class: "soft" }, `0 is an equilibrium: nobody can win from it. Decisions that a seat never met are filled in (${fill === "nash" ? "an equilibrium's" : "uniform chances"}).`));
}
