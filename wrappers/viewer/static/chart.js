"use strict";
// Lines over an axis that a replay uncovers as it goes: drawn once, and then a clip is moved.

const charts = [];

// What a chart is made of; all but the first three may be left out.
//   label: what it shows, for who hears it; length: points of the axis;
//   lines: [{values, color, dash, thin, step, known, name, text}], null where there is no value; `name` stands at
//     the line's end as it moves, `text(k)` in its stead says more; `known`: all of it is there from the start;
//   height; low, high: the range; ticks: [[value, text]];
//   steps: [[k, text]] on the axis, or `first`: what its first point is called;
//   left: the margin for what `ticks` do not name;
//   slots: whether a point is the middle of a slot, as bars need; base, head: room under the lines and over them;
//   under(scale), over(scale): elements below the lines and above, uncovered with them;
//   back(scale): elements at the back, always there.
function chart(spec) {
  const node = el("div", { class: "plot" });
  const made = { node, draw: () => {}, at: () => {} };
  made.draw = () => { made.at = drawn(node, spec, charts.indexOf(made)); };
  charts.push(made);
  return made;
}

function drawn(node, spec, id) {
  const { lines, length, height = 150, slots = false, base = 0, head = 0 } = spec;
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const low = spec.low ?? Math.min(...values);
  const high = Math.max(spec.high ?? values.reduce((a, b) => Math.max(a, b), low), low + 1e-9);
  const ticks = spec.ticks || round(low, high).map((value) => [value, short(value)]);
  const width = Math.max(220, node.clientWidth);
  const named = lines.filter((line) => line.name);
  const left = spec.left ?? 8 + 7.2 * Math.max(...ticks.map(([, text]) => text.length));
  const right = named.length ? 14 + 7.8 * Math.max(...named.map((line) => line.name.length)) : 8;
  const foot = 20;
  const room = width - left - right;
  const places = spec.steps || steps(length, spec.first || 0, Math.max(2, Math.min(13, room / 36)));
  const gap = slots ? room / length : room / Math.max(1, length - 1);
  const scale = {
    gap, left, right: width - right, top: 8, bottom: height - foot,
    x: (k) => left + (slots ? k + 0.5 : k) * gap,
    y: (value) => height - foot - base - ((value - low) * (height - foot - base - head - 10)) / (high - low),
  };
  const { x, y } = scale;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": spec.label });
  if (spec.back) picture.append(...spec.back(scale));
  for (const [value, text] of ticks) {
    picture.append(svg("line", { class: "grid-line", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    picture.append(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text));
  }
  for (const [k, text] of places)
    picture.append(svg("text", { x: x(k), y: height - 3, "text-anchor": "middle" }, text));
  const clip = svg("rect", { x: 0, y: -10, width: 0, height: height + 10 });
  picture.append(svg("clipPath", { id: `clip-${id}` }, clip));
  const open = svg("g", { "clip-path": `url(#clip-${id})` });
  if (spec.under) open.append(...spec.under(scale));
  for (const line of lines) {
    const path = svg("path", {
      d: track(line, x, y), fill: "none", stroke: line.color, "stroke-width": line.thin ? 1.2 : 2,
      "stroke-dasharray": line.dash || "none", "stroke-linejoin": "round",
    });
    (line.known ? picture : open).append(path);
  }
  if (spec.over) open.append(...spec.over(scale));
  const now = svg("line", { class: "now-line", y1: head + 4, y2: height - foot });
  const names = named.map((line) => svg("text", { class: "name", style: `fill: ${line.color}` }));
  picture.append(open, now, ...names);
  node.replaceChildren(picture);
  return (k) => {
    clip.setAttribute("width", Math.max(0, x(k) + (slots ? gap / 2 : 1.5)));
    now.setAttribute("visibility", k < 0 ? "hidden" : "visible");
    now.setAttribute("x1", x(k));
    now.setAttribute("x2", x(k));
    const heights = named.map((line) => (line.values[k] ?? null) === null ? null : y(line.values[k]));
    const spread = apart(heights, height - foot);
    names.forEach((text, n) => {
      text.setAttribute("visibility", spread[n] === null ? "hidden" : "visible");
      if (spread[n] === null) return;
      text.textContent = named[n].text ? named[n].text(k) : named[n].name;
      text.setAttribute("x", x(k) + 7);
      text.setAttribute("y", spread[n] + 4);
    });
  };
}

// The path of a line; as steps, a value holds until the next.
function track(line, x, y) {
  let path = "", pen = "M";
  line.values.forEach((value, k) => {
    if (value === null) { pen = "M"; return; }
    if (pen === "L" && line.step) path += `H${x(k).toFixed(1)}`;
    path += `${pen}${x(k).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

// Heights moved so far that names do not lie over each other.
function apart(heights, bottom) {
  const least = 13;
  const order = heights.map((_, n) => n).filter((n) => heights[n] !== null).sort((a, b) => heights[a] - heights[b]);
  const places = heights.slice();
  order.forEach((n, rank) => { if (rank) places[n] = Math.max(places[n], places[order[rank - 1]] + least); });
  let floor = bottom;
  for (const n of order.reverse()) {
    places[n] = Math.min(places[n], floor);
    floor = places[n] - least;
  }
  return places;
}

// Three to six round values of a range.
function round(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found;
}

function short(value) {
  const size = Math.abs(value), sign = value < 0 ? "\u2212" : "";
  if (size >= 1e6) return `${sign}${Number((size / 1e6).toFixed(2))}M`;
  if (size >= 1e4) return `${sign}${Number((size / 1e3).toFixed(1))}k`;
  return `${sign}${Number(size.toFixed(2)).toLocaleString("en")}`;
}

// Places of an axis of `length` that are named, no more than `most`; the first is called `first`.
function steps(length, first, most) {
  const every = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000].find((k) => length <= k * most) || length;
  return Array.from({ length: Math.ceil(length / every) }, (_, k) => [k * every, String(k * every + first)]);
}
