"use strict";
// Which moment of the story is shown. A game's own script sets
//   game = {beats, build(stage), show(frame, index), tell(frame, index)}:
// what a beat of it is, the page built once, a moment put into it, and that moment in a sentence.

const story = JSON.parse(document.getElementById("story").textContent);
let game = null;

const part = (id) => document.getElementById(id);
const last = story.frames.length - 1;

const playback = {
  at: 0,
  timer: 0,
  linked: 0,
  show(index) {
    this.at = Math.max(0, Math.min(last, index));
    const frame = story.frames[this.at];
    game.show(frame, this.at);
    part("caption").textContent = sentence(game.tell(frame, this.at));
    part("moment").textContent = `${frame.label} \u00B7 ${this.at} / ${last}`;
    part("scrub").value = this.at;
    part("scrub").setAttribute("aria-valuetext", frame.label);
    part("link").setAttribute("href", `#${this.at}`);
    // the address is that of the moment, once it stays
    window.clearTimeout(this.linked);
    this.linked = window.setTimeout(() => window.history.replaceState(null, "", `#${this.at}`), 400);
  },
  beat(step) {
    let k = this.at + step;
    while (k > 0 && k < last && !story.frames[k].beat) k += step;
    this.show(k);
  },
  play(going) {
    window.clearInterval(this.timer);
    this.timer = 0;
    if (going) {
      if (this.at === last) this.show(0);
      this.timer = window.setInterval(() => {
        this.show(this.at + 1);
        if (this.at === last) this.play(false);
      }, 1000 / Number(part("speed").value));
    }
    part("play").classList.toggle("playing", going);
    part("play").setAttribute("aria-label", going ? "Pause" : "Play");
    part("caption").setAttribute("aria-live", going ? "off" : "polite"); // no flood while it plays
  },
};

// The moment that the address names, or none.
function linked() {
  const found = /^#(\d{1,9})$/.exec(window.location.hash);
  return found ? Number(found[1]) : null;
}

function isDark() {
  const asked = document.documentElement.dataset.theme;
  return asked ? asked === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function offerTheme() {
  part("theme").textContent = isDark() ? "Light" : "Dark";
  part("theme").setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
}

function markBeats() {
  const unit = 1000 / Math.max(1, part("beats").clientWidth); // a pixel
  const marks = story.frames.flatMap((frame, k) => {
    if (!frame.beat) return [];
    const paint = { misheard: "var(--wrong)", void: "var(--warn)" }[frame.beat] || "var(--good)";
    return [svg("rect", { x: (k * 1000) / Math.max(1, last) - unit, y: 0, width: 2 * unit, height: 6, fill: paint })];
  });
  part("beats").replaceChildren(...marks);
}

function redraw() {
  for (const each of charts) each.draw();
  markBeats();
  playback.show(playback.at);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target;
  if (at.tagName === "SELECT" || (event.key === " " && /^(BUTTON|A)$/.test(at.tagName))) return;
  if (at.scrollWidth > at.clientWidth && at.classList.contains("scroll")) return; // it scrolls
  const acts = {
    ArrowLeft: () => (event.shiftKey ? playback.beat(-1) : playback.show(playback.at - 1)),
    ArrowRight: () => (event.shiftKey ? playback.beat(1) : playback.show(playback.at + 1)),
    Home: () => playback.show(0),
    End: () => playback.show(last),
    " ": () => playback.play(!playback.timer),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
}

window.addEventListener("DOMContentLoaded", () => {
  part("title").textContent = story.title;
  part("subtitle").textContent = story.subtitle;
  part("beat-is").textContent = game.beats;
  part("scrub").max = last;
  const on = (id, event, act) => part(id).addEventListener(event, act);
  on("scrub", "input", () => playback.show(Number(part("scrub").value)));
  on("back-beat", "click", () => playback.beat(-1));
  on("back", "click", () => playback.show(playback.at - 1));
  on("next", "click", () => playback.show(playback.at + 1));
  on("next-beat", "click", () => playback.beat(1));
  on("play", "click", () => playback.play(!playback.timer));
  on("speed", "change", () => playback.timer && playback.play(true));
  on("theme", "click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    offerTheme();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", offerTheme);
  document.addEventListener("keydown", pressed);
  let wide = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === wide) return;
    wide = window.innerWidth;
    redraw();
  });
  window.addEventListener("hashchange", () => linked() !== null && playback.show(linked()));
  offerTheme();
  game.build(part("stage"));
  playback.at = linked() ?? 0;
  redraw();
});
