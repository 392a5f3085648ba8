"use strict";
// Grand Exchange: every item's price and volume, limits and fills, the reference beside them.

function item(line, k, tick) {
  const seen = story.visible + tick;
  const length = line.prices.length;
  const own = story.own;
  const limits = (side) => Array.from({ length }, (_, t) => {
    const quote = t >= story.visible && t < seen ? own.quotes[k][t - story.visible][side] : 0;
    return quote || null;
  });
  const quoted = own.quotes[k].flat().filter(Boolean);
  const shade = (x, _, height) => [svg("rect", { x: x(story.visible - 0.5), y: 4, width: x(length - 1) - x(story.visible - 0.5), height: height - 8, fill: "var(--line)", opacity: 0.35 })];
  const dots = (told, hollow) => (x, y) => told.fills[k].slice(0, tick).flatMap((units, t) => {
    if (!units) return [];
    const paint = units > 0 ? "var(--good)" : "var(--wrong)";
    const place = { cx: x(story.visible + t), cy: y(line.prices[story.visible + t]) };
    return [svg("circle", { ...place, r: hollow ? 5 : 3, fill: hollow ? "none" : paint, stroke: paint })];
  });
  const volumes = (x, _, height) => {
    const most = Math.max(...line.volumes);
    return line.volumes.slice(0, seen).map((volume, t) => svg("rect", { x: x(t) - 1.2, y: height - 8 - (volume / most) * 26, width: 2.4, height: (volume / most) * 26, fill: "var(--soft)", opacity: 0.45 }));
  };
  const low = Math.min(...line.prices, ...quoted), high = Math.max(...line.prices, ...quoted);
  return el("article", { class: "card" },
    el("h3", {}, `${line.name} \u00B7 ${line.reverting ? "reverts" : "walks"}`),
    chart(`${line.name}: price and volume by tick`, [
      { values: until(line.prices, seen), color: "var(--c0)" },
      { values: limits(0), color: "var(--good)", dash: "5 3" },
      { values: limits(1), color: "var(--wrong)", dash: "5 3" },
    ], length, { height: 190, marks: [shade, volumes, dots(story.reference, true), dots(own, false)], low: low - (high - low) * 0.25, high, ticks: [low, high], now: seen - 1 }),
    facts(fact("price", line.prices[seen - 1].toLocaleString("en")), fact("volume", line.volumes[seen - 1].toLocaleString("en")),
      fact("stock", own.stock[k][tick].toLocaleString("en")), fact("reference's", story.reference.stock[k][tick].toLocaleString("en")),
      fact("buy limit", line.limit.toLocaleString("en"))));
}

function percent(value) {
  return `${signed(100 * value, 2)}%`;
}

function outcome() {
  const { results } = story;
  return section("Results",
    facts(fact("return", percent(results.return)), fact("purse", results.purse.toLocaleString("en", { maximumFractionDigits: 2 })),
      fact("the reference's return", percent(story.reference_return))),
    table(["item", "bought", "sold", "forced out at the close"],
      results.items.map((name, k) => [name, results.bought[k], results.sold[k], results.forced_out[k]])));
}

game = {
  draw(frame, index, stage) {
    const worths = [
      { values: until(story.own.worth, index + 1), color: "var(--c0)" },
      { values: until(story.reference.worth, index + 1), color: "var(--c1)", dash: "5 3" },
    ];
    const all = [...story.own.worth, ...story.reference.worth];
    stage.append(
      section(`Net worth of ${story.policies[0]}`,
        chart("Net worth by tick, beside the reference's", worths, story.own.worth.length,
          { height: 150, wide: true, low: Math.min(...all), high: Math.max(...all), now: index }),
        facts(
          el("span", {}, key(0), "own ", el("b", {}, Math.round(story.own.worth[index]).toLocaleString("en"))),
          el("span", {}, key(1), "reference ", el("b", {}, Math.round(story.reference.worth[index]).toLocaleString("en"))),
          fact("return so far", percent(story.own.worth[index] / story.capital - 1)))),
      section("Items",
        el("p", { class: "soft" }, "Shaded: the half that was held out. Dashed: buy and sell limits. Dots: units bought (green) and sold (red); rings: the reference's. Bars: volume."),
        el("div", { class: "grid", style: "--least: 400px" }, ...story.items.map((line, k) => item(line, k, index)))),
      ...(index === story.frames.length - 1 ? [outcome()] : []));
  },
};
