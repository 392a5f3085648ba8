"use strict";
// Garble's interference as weather: a bar a turn, the sky over it, bursts as lightning.

const skies = [["clear", "var(--c2)"], ["hazy", "var(--c4)"], ["rough", "var(--c1)"], ["storm", "var(--wrong)"]];

function skyOf(noise) {
  return Math.min(3, Math.floor(noise / 0.25));
}

// A sun, a veiled sun, a cloud with rain, a cloud with more of it: about 20 wide, around (x, y).
function sky(kind, x, y, paint) {
  const line = { stroke: paint, "stroke-width": 1.6, "stroke-linecap": "round", fill: "none" };
  const cloud = "M-7 4a4 4 0 0 1 0-8 5.5 5.5 0 0 1 10.5-1.5A4.8 4.8 0 0 1 6 4z";
  const rays = Array.from({ length: 8 }, (_, k) => {
    const [dx, dy] = [Math.cos((k * Math.PI) / 4), Math.sin((k * Math.PI) / 4)];
    return `M${(6 * dx).toFixed(1)} ${(6 * dy).toFixed(1)}L${(8.5 * dx).toFixed(1)} ${(8.5 * dy).toFixed(1)}`;
  }).join("");
  const shapes = {
    0: [svg("circle", { r: 3.8, fill: paint }), svg("path", { ...line, d: rays })],
    1: [svg("circle", { r: 4.5, cy: -2, fill: paint }), svg("path", { ...line, d: "M-8 4H8M-5 7.5H5" })],
    2: [svg("path", { d: cloud, fill: paint }), svg("path", { ...line, d: "M-4 7l-1 3M2 7l-1 3" })],
    3: [svg("path", { d: cloud, fill: paint }), svg("path", { ...line, d: "M-6 7l-1 3M-2 7l-1 3M2 7l-1 3M6 7l-1 3" })],
  };
  return svg("g", { transform: `translate(${x} ${y})` }, ...shapes[kind]);
}

function bolt(x, y) {
  return svg("path", {
    d: "M2-11L-6 2h5l-2 9 9-13H1z", transform: `translate(${x} ${y})`,
    fill: "var(--card)", stroke: "var(--ink)", "stroke-width": 1.5, "stroke-linejoin": "round",
  });
}

function weather() {
  const turns = story.curve.length;
  const bars = ({ x, y, gap, bottom }) => story.interference.flatMap((noise, k) => {
    const [, paint] = skies[skyOf(noise)];
    const wide = Math.min(46, gap * 0.72);
    return [
      svg("rect", { x: x(k) - wide / 2, y: y(noise), width: wide, height: Math.max(1, bottom - y(noise)), rx: 2, fill: paint, opacity: 0.55 }),
      ...(gap >= 15 || k % 2 === 0 ? [sky(skyOf(noise), x(k), 12, paint)] : []),
      ...(story.bursts[k] ? [bolt(x(k), (y(noise) + bottom) / 2)] : []),
    ];
  });
  const levels = [0, 0.25, 0.5, 0.75, 1].map((value) => [value, ""]);
  const names = ({ y, left }) => skies.map(([name], k) =>
    svg("text", { x: left - 6, y: y(k * 0.25 + 0.125) + 4, "text-anchor": "end" }, name));
  return chart({
    label: `Interference by turn, from 0 to 1: ${story.interference.map((noise, k) =>
      `${noise}${story.bursts[k] ? " with a burst" : ""}`).join(", ")}`,
    lines: [{ values: story.curve, color: "var(--soft)", dash: "4 4", known: true, thin: true }],
    length: turns, slots: true, low: 0, high: 1, height: 170,
    ticks: levels, left: 48, head: 16,
    first: 1, under: bars, back: names,
  });
}
