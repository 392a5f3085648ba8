"use strict";
// What the pages of all games share: building elements, charts, and the playback.
// A game's own script sets `game = {draw(frame, index, stage)}`.

const story = JSON.parse(document.getElementById("story").textContent);
let game = null;

// All text goes in as text nodes: nothing that a player wrote is ever parsed as markup.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null).map((child) =>
    child instanceof Node ? child : String(child)));
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function fact(name, value, style) {
  return el("span", {}, `${name} `, el("b", style ? { class: style } : {}, value));
}

function facts(...rows) {
  return el("div", { class: "facts" }, ...rows);
}

function color(k) {
  return `var(--c${k % 6})`;
}

function key(k) {
  return el("span", { class: "key", style: `background: ${color(k)}`, "aria-hidden": "true" });
}

function signed(value, digits) {
  const text = digits === undefined ? value.toLocaleString("en") : value.toFixed(digits);
  return value > 0 ? `+${text}` : text;
}

function table(heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" },
    el("table", {},
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, k) =>
        k ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))))));
}

// Lines over a common axis: `lines` of {values, color, dash}; `length` points make the width.
// `wide` charts fill the stage, so they are drawn at about its size: text keeps its own.
function chart(label, lines, length, options) {
  const { height = 130, wide = false, marks = [], low, high, ticks, now } = options || {};
  const width = wide ? Math.min(1400, Math.max(300, window.innerWidth - 60)) : Math.min(460, Math.max(280, window.innerWidth - 80));
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const bottom = low ?? Math.min(...values);
  const top = Math.max(high ?? Math.max(...values), bottom + 1e-9);
  const x = (k) => 44 + (k * (width - 54)) / Math.max(1, length - 1);
  const y = (value) => height - 8 - ((value - bottom) * (height - 18)) / (top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const value of ticks || [bottom, top]) {
    const text = svg("text", { x: 40, y: y(value) + 4, "text-anchor": "end" });
    text.textContent = short(value);
    picture.append(text, svg("line", { x1: 44, x2: width - 8, y1: y(value), y2: y(value), stroke: "var(--line)" }));
  }
  for (const mark of marks) picture.append(...mark(x, y, height));
  for (const line of lines) {
    let path = "", pen = "M";
    line.values.forEach((value, k) => {
      if (value === null) { pen = "M"; return; }
      path += `${pen}${x(k).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    });
    picture.append(svg("path", { d: path, fill: "none", stroke: line.color, "stroke-width": line.wide || 1.8, "stroke-dasharray": line.dash || "none" }));
  }
  if (now !== undefined && now >= 0)
    picture.append(svg("line", { x1: x(now), x2: x(now), y1: 4, y2: height - 4, stroke: "var(--soft)", "stroke-dasharray": "2 3" }));
  return picture;
}

function short(value) {
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

// Values up to a point, the rest unseen.
function until(values, count) {
  return values.map((value, k) => (k < count ? value : null));
}

const playback = {
  at: 0,
  timer: 0,
  show(index) {
    this.at = Math.max(0, Math.min(story.frames.length - 1, index));
    const frame = story.frames[this.at];
    const stage = document.getElementById("stage");
    const parts = document.createElement("div");
    game.draw(frame, this.at, parts);
    stage.replaceChildren(...parts.childNodes);
    document.getElementById("moment").textContent =
      `${frame.label}${frame.street ? `, ${frame.street}` : ""} (${this.at + 1} of ${story.frames.length})`;
    const scrub = document.getElementById("scrub");
    scrub.value = this.at;
    scrub.setAttribute("aria-valuetext", frame.label);
    document.getElementById("link").setAttribute("href", `#${this.at}`);
  },
  beat(step) {
    let k = this.at + step;
    while (k > 0 && k < story.frames.length - 1 && !story.frames[k].beat) k += step;
    this.show(k);
  },
  play(going) {
    window.clearInterval(this.timer);
    this.timer = 0;
    if (going) {
      if (this.at === story.frames.length - 1) this.show(0);
      const speed = Number(document.getElementById("speed").value);
      this.timer = window.setInterval(() => {
        this.show(this.at + 1);
        if (this.at === story.frames.length - 1) this.play(false);
      }, 1000 / speed);
    }
    const button = document.getElementById("play");
    button.textContent = going ? "\u25AE\u25AE" : "\u25B6";
    button.setAttribute("aria-label", going ? "Pause" : "Play");
  },
};

function fromLink() {
  const index = Number.parseInt(window.location.hash.slice(1), 10);
  return Number.isNaN(index) ? 0 : index;
}

function turned(theme) {
  document.documentElement.dataset.theme = theme;
}

window.addEventListener("DOMContentLoaded", () => {
  document.getElementById("title").textContent = story.title;
  document.getElementById("subtitle").textContent = story.subtitle;
  const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
  const scrub = document.getElementById("scrub");
  scrub.max = story.frames.length - 1;
  on("scrub", "input", () => playback.show(Number(scrub.value)));
  const moves = {
    "back-beat": () => playback.beat(-1),
    back: () => playback.show(playback.at - 1),
    next: () => playback.show(playback.at + 1),
    "next-beat": () => playback.beat(1),
    play: () => playback.play(!playback.timer),
  };
  for (const [id, act] of Object.entries(moves)) on(id, "click", act);
  on("speed", "change", () => playback.timer && playback.play(true));
  on("theme", "click", () => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    turned(now === "dark" ? "light" : "dark");
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      ArrowLeft: event.shiftKey ? moves["back-beat"] : moves.back,
      ArrowRight: event.shiftKey ? moves["next-beat"] : moves.next,
      Home: () => playback.show(0),
      End: () => playback.show(story.frames.length - 1),
      " ": moves.play,
    };
    const typing = /^(SELECT|BUTTON|A)$/.test(event.target.tagName);
    if (!acts[event.key] || (typing && event.key === " ") || event.target.tagName === "SELECT") return;
    event.preventDefault();
    acts[event.key]();
  });
  window.addEventListener("resize", () => playback.show(playback.at));
  window.addEventListener("hashchange", () => playback.show(fromLink()));
  playback.show(fromLink());
});
