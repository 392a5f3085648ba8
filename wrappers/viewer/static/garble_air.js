"use strict";
// Garble's air: every line as it was said, and under each word what became of it on the way.

const GAP = "\u25A9";

function heardWord(word, said) {
  if (word === said) return el("td", {}, word);
  if (word === GAP)
    return el("td", { class: "missing" }, el("span", { title: "lost" }, el("span", { "aria-hidden": "true" }, GAP), unseen("lost")));
  return el("td", { class: "swapped" }, el("span", { title: `said: ${said}` }, word, unseen(` heard, ${said} said`)));
}

// Columns [first, last) of words that stand side by side in `room` characters.
function columns(widths, room) {
  const spans = [];
  let first = 0, used = 0;
  widths.forEach((width, k) => {
    if (k > first && used + width > room) { spans.push([first, k]); first = k; used = 0; }
    used += width;
  });
  return widths.length ? [...spans, [first, widths.length]] : [];
}

// SAID over HEARD, in as many rows of columns as the width takes.
function saidOverHeard(line, room) {
  const bare = line.said.map((word, k) => Math.max(word.length, ...line.heard.map(([, words]) => words[k].length)));
  const margin = 10 + Math.max(0, ...line.heard.map(([to]) => story.aliases[to].length)); // and a tick
  const gap = bare.reduce((sum, width) => sum + width + 2, margin) > room ? 1 : 2;
  const widths = bare.map((width) => width + gap);
  const clean = (words) => words.every((word, k) => word === line.said[k]);
  return columns(widths, Math.max(12, room - margin)).map(([first, end]) =>
    el("table", { class: "words", style: `--gap: ${gap}ch` },
      el("caption", { class: "unseen" }, `What ${story.aliases[line.sender]} said and who heard what`),
      el("tbody", {},
        el("tr", { class: "said" }, el("th", { scope: "row" }, "SAID"), ...line.said.slice(first, end).map((word) => el("td", {}, word))),
        ...line.heard.map(([to, words]) =>
          el("tr", {}, el("th", { scope: "row" }, "HEARD ", story.aliases[to]),
            ...words.slice(first, end).map((word, k) => heardWord(word, line.said[first + k])),
            end === words.length && clean(words) ? el("td", { class: "tick" }, "\u2713", unseen("as said")) : null)))));
}

// Whether a seat did anything that is worth a card.
function idle(line) {
  return line.silent && !line.confirm && !line.notes && !line.fallback;
}

function traffic(line, room) {
  const badges = line.silent ? [el("span", { class: "soft" }, line.silent)] : [
    el("span", { class: "badge" }, line.channel),
    ...(line.clipped ? [el("span", { class: "badge odd" }, "clipped: the airtime ran out")] : []),
    ...(line.ticket ? [el("span", { class: "badge" }, `opens #${line.ticket}`)] : []),
    ...(!line.ticket ? [el("span", { class: "badge odd" }, "no terms, no ticket")] : []),
  ];
  return el("article", { class: "card" },
    el("h3", { class: "who" }, el("span", {}, key(line.sender), story.aliases[line.sender]), ...badges,
      line.fallback ? el("span", { class: "badge odd" }, "fallback") : null),
    ...saidOverHeard(line, room),
    line.raw ? el("p", { class: "soft" }, "as written: ", theirs(line.raw)) : null,
    line.confirm ? el("p", { class: "confirm" }, el("span", { class: `stamp ${line.verdict}` }, line.verdict), ` confirms ${line.confirm}`) : null,
    line.notes ? el("p", { class: "soft" }, "notes to itself: ", theirs(line.notes)) : null);
}
