"use strict";
// Grand Exchange: every item's price and volume, limits and fills, the purse, and what the
// reference did on the same market.

const sides = [["own", "var(--c0)"], ["reference", "var(--c1)"]];
const ink = { price: "var(--c0)", buy: "var(--good)", sell: "var(--wrong)" };

// A triangle: up bought, down sold; the reference's is hollow and larger.
function triangle(x, y, units, hollow) {
  const size = (hollow ? 7 : 4.5) * (units > 0 ? 1 : -1);
  const paint = units > 0 ? ink.buy : ink.sell;
  return svg("path", {
    d: `M${x - Math.abs(size)} ${y + size * 0.8}H${x + Math.abs(size)}L${x} ${y - size * 0.9}Z`,
    fill: hollow ? "none" : paint, stroke: hollow ? paint : "var(--well)", "stroke-width": hollow ? 1.5 : 0.8,
  });
}

function marker(units, hollow) {
  return svg("svg", { class: "mark", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, triangle(0, 0, units, hollow));
}

function swatch(paint, dashed) {
  return el("span", { class: "swatch", style: `border-color: ${paint}; border-top-style: ${dashed ? "dashed" : "solid"}`, "aria-hidden": "true" });
}

function itemChart(line, k) {
  const { visible, own, reference } = story;
  const length = line.prices.length;
  const limits = (side) => line.prices.map((_, t) => (t >= visible && own.quotes[k][t - visible][side]) || null);
  const fills = (told, hollow) => ({ x, y }) => told.fills[k].flatMap((units, t) =>
    units ? [triangle(x(visible + t), y(line.prices[visible + t]), units, hollow)] : []);
  const most = Math.max(...line.volumes);
  const quoted = own.quotes[k].flat().filter(Boolean);
  const longest = (side) => `${side} ${Math.max(0, ...quoted).toLocaleString("en")}`;
  const priced = (side, values) => (t) => `${side} ${values[t].toLocaleString("en")}`;
  const [buys, sells] = [limits(0), limits(1)];
  const named = (side, values) => (quoted.length ? { name: longest(side), text: priced(side, values) } : {});
  return chart({
    label: `${line.name}: price and volume by tick, the limits and the fills`,
    length, height: 200, base: 34,
    low: Math.min(...line.prices, ...quoted), high: Math.max(...line.prices, ...quoted),
    lines: [
      { values: line.prices, color: ink.price },
      { values: buys, color: ink.buy, dash: "5 3", step: true, ...named("buy", buys) },
      { values: sells, color: ink.sell, dash: "5 3", step: true, ...named("sell", sells) },
    ],
    steps: [[0, "0"], [visible, String(visible)], [length - 1, String(length - 1)]],
    back: ({ x, left, right, bottom }) => [
      svg("rect", { class: "held-out", x: x(visible - 0.5), y: 0, width: right - x(visible - 0.5), height: bottom }),
      svg("text", { x: left + 4, y: 10 }, "to read"),
      svg("text", { x: x(visible - 0.5) + 4, y: 10 }, "held out"),
    ],
    under: ({ x, bottom, gap }) => line.volumes.map((volume, t) => {
      const high = (volume / most) * 28;
      return svg("rect", { class: "volume", x: x(t) - gap * 0.35, y: bottom - high, width: gap * 0.7, height: high });
    }),
    over: (scale) => [...fills(reference, true)(scale), ...fills(own, false)(scale)],
    head: 12,
  });
}

// Units so far on one side, and their mean price.
function traded(told, k, tick, sign) {
  let units = 0, worth = 0;
  told.fills[k].slice(0, tick).forEach((fill, t) => {
    if (fill * sign <= 0) return;
    units += fill * sign;
    worth += fill * sign * story.items[k].prices[story.visible + t];
  });
  return units ? `${whole(units)} at ${whole(worth / units)}` : "\u2013";
}

function facing(line, k, tick) {
  const seen = story.visible + tick;
  return [
    facts(fact("price", whole(line.prices[seen - 1])), fact("volume", whole(line.volumes[seen - 1])),
      fact("may buy at most", whole(line.limit))),
    table(line.name, ["", tick === last ? "forced out" : "stock", "bought", "sold"], sides.map(([name]) => [
      name, whole(story[name].stock[k][tick]), traded(story[name], k, tick, 1), traded(story[name], k, tick, -1)])),
  ];
}

function sums(tick) {
  return table("Net worth", ["", "net worth", "return", "purse", "in stock"], sides.map(([name], n) => {
    const { worth, purse } = story[name];
    const gain = worth[tick] / story.capital - 1;
    return [el("span", {}, key(n), name, " ", n ? null : theirs(story.policies[0])), el("b", {}, whole(worth[tick])),
      el("span", { class: direction(gain) }, percent(gain)), whole(purse[tick]), whole(worth[tick] - purse[tick])];
  }));
}

function outcome() {
  const both = [story.results, story.reference_results];
  const gold = (value) => value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const cell = (name, k) => `${whole(both[0][name][k])} / ${whole(both[1][name][k])}`;
  return [
    panel("Results", table("Results", ["", "return", "purse"], sides.map(([name], n) => [
      el("span", {}, key(n), name, " ", n ? null : theirs(story.policies[0])),
      el("b", { class: direction(both[n].return) }, percent(both[n].return)), gold(both[n].purse)])),
      el("p", { class: "soft" }, "The reference trades the same market by a fixed rule, beside it.")),
    panel("Units, own / the reference's", table("Units by item", ["item", "bought", "sold", "forced out at the close"],
      both[0].items.map((name, k) => [name, cell("bought", k), cell("sold", k), cell("forced_out", k)]))),
  ];
}

game = {
  beats: "a fill",
  build(stage) {
    const box = (name) => { this[name] = el("div", { class: name }); return this[name]; };
    this.worth = chart({
      label: `Net worth by tick, own and the reference's, in the end ${sides.map(([name]) => `${name} ${whole(story[name].worth[last])}`).join(", ")}`,
      lines: [
        ...sides.map(([name, paint], n) => ({
          values: story[name].worth, color: paint, dash: n ? "7 3" : "none", name: `${name} 000.0k`,
          text: (k) => `${name} ${short(story[name].worth[k])}`,
        })),
        { values: story.own.purse, color: "var(--soft)", thin: true, dash: "2 3", name: "purse 000.0k", text: (k) => `purse ${short(story.own.purse[k])}` },
      ],
      length: story.frames.length, height: 200,
    });
    this.charts = story.items.map(itemChart);
    this.facing = story.items.map(() => el("div", {}));
    stage.append(
      box("results"),
      panel("Net worth", this.worth.node, box("sums")),
      panel("Items",
        legend(
          [swatch(ink.price), "price"],
          [swatch(ink.buy, true), "buy limit"], [swatch(ink.sell, true), "sell limit"],
          [marker(1, false), "bought"], [marker(-1, false), "sold"],
          [marker(1, true), marker(-1, true), "the reference's"],
          [el("span", { class: "block" }), "what was held out"], "bars: volume"),
        el("div", { class: "grid", style: "--least: 380px" }, ...story.items.map((line, k) =>
          el("article", { class: "card item" },
            el("h3", {}, line.name, el("span", { class: "badge" }, line.reverting ? "returns to its level" : "random walk")),
            this.charts[k].node, this.facing[k])))));
    this.results.classList.add("split");
  },
  show(frame, index) {
    this.worth.at(index);
    this.sums.replaceChildren(sums(index));
    story.items.forEach((line, k) => {
      this.charts[k].at(story.visible + index - 1);
      this.facing[k].replaceChildren(...facing(line, k, index));
    });
    this.results.replaceChildren(...(index === last ? outcome() : []));
  },
  tell(frame, index) {
    if (!index) return `${frame.label}: the purse is ${whole(story.capital)}.`;
    const fills = story.items.flatMap((line, k) => {
      const units = story.own.fills[k][index - 1];
      return units ? [`${units > 0 ? "buys" : "sells"} ${whole(Math.abs(units))} ${line.name} at ${whole(line.prices[story.visible + index - 1])}`] : [];
    });
    const late = (index - 1) % story.interval === 0 && story.fallbacks.includes((index - 1) / story.interval);
    return `${frame.label}: ${fills.join(", ") || "no fill"}.${late ? " The seat decided nothing; a fallback stood in." : ""}${index === last ? " The rest of the stock is forced out." : ""}`;
  },
};
