"use strict";
// The parts that pages are built of. All text goes in as text nodes: nothing that a player wrote
// is ever parsed as markup.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function panel(title, ...children) {
  return el("section", { "aria-label": title }, el("h2", {}, title), ...children);
}

// A player's own words: set apart, so that no mark in them turns the text around it.
function theirs(text) {
  return el("bdi", { class: "theirs", dir: "auto" }, text);
}

// What is read aloud and not shown.
function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

function fact(name, value, style) {
  return el("span", {}, `${name} `, el("b", style ? { class: style } : {}, value));
}

function facts(...rows) {
  return el("div", { class: "facts" }, ...rows);
}

function legend(...rows) {
  return el("p", { class: "legend" }, ...rows.map((row) => el("span", {}, ...[row].flat())));
}

function color(k) {
  return `var(--c${k % 6})`;
}

function key(k) {
  return el("span", { class: "key", style: `background: ${color(k)}`, "aria-hidden": "true" });
}

// `heads` are texts; a cell is a text or an element. The first column names the rows.
function table(label, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {},
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, k) =>
        k ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))))));
}

function whole(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 0 });
}

// With a sign, a true minus, and `digits` after the point.
function signed(value, digits = 0) {
  const text = Math.abs(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (!/[1-9]/.test(text)) return text;
  return (value > 0 ? "+" : "\u2212") + text;
}

function percent(value) {
  return `${signed(100 * value, 2)}%`;
}

function direction(value) {
  return value > 0 ? "up" : value < 0 ? "down" : "";
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
