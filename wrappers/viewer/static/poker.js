"use strict";
// The poker ladder: the table, the hand's story, the pair of hands side by side, net chips.

const suits = { s: "\u2660\uFE0E", h: "\u2665\uFE0E", d: "\u2666\uFE0E", c: "\u2663\uFE0E" };
const names = { s: "spades", h: "hearts", d: "diamonds", c: "clubs", T: "10", J: "jack", Q: "queen", K: "king", A: "ace" };

function card(name) {
  if (!name) return el("span", { class: "playing-card blank", role: "img", "aria-label": "not dealt yet" }, "");
  const [rank, suit] = name;
  const style = suit === "h" || suit === "d" ? "playing-card red" : "playing-card";
  return el("span", { class: style, role: "img", "aria-label": `${names[rank] || rank} of ${names[suit]}` },
    el("span", {}, rank === "T" ? "10" : rank), el("i", {}, suits[suit]));
}

function cards(dealt, small) {
  return el("span", { class: `cards${small ? " small-cards" : ""}` }, ...dealt.map(card));
}

function who(seat) {
  return el("span", {}, key(seat), `seat_${seat} `, theirs(story.policies[seat]));
}

// Discs of 100, 25, 5 and 1, as one would stack them; a stack holds five.
function chips(amount) {
  const discs = [];
  let rest = amount;
  for (const [worth, paint] of [[100, "#1a1f24"], [25, "#0c6a35"], [5, "#b0121b"], [1, "#8d979f"]])
    for (; rest >= worth && discs.length < 15; rest -= worth) discs.push(paint);
  const stacks = [];
  for (let k = 0; k < discs.length; k += 5) stacks.push(discs.slice(k, k + 5));
  return el("span", { class: "chips", "aria-hidden": "true" }, ...stacks.map((stack) =>
    svg("svg", { width: 18, height: 8 + 4 * stack.length, viewBox: `0 0 18 ${8 + 4 * stack.length}` },
      ...stack.map((paint, k) => svg("ellipse", { cx: 9, cy: 4 + 4 * (stack.length - k), rx: 8, ry: 3.6, fill: paint, stroke: "#fff" })))));
}

function deed(move) {
  const price = { bet: ` ${move.to}`, raise: ` to ${move.to}` }[move.kind] || "";
  return `${move.kind}s${price}${move.all_in ? ", all in" : ""}`;
}

// Where a seat sits: around the table, the first at the bottom left, clockwise.
function place(k, count) {
  const angle = ((count === 2 ? 180 : 120) + (360 * k) / count) * (Math.PI / 180);
  return [Math.cos(angle), Math.sin(angle)];
}

function spot([dx, dy], wide, high) {
  return `--x: ${(50 + wide * dx).toFixed(1)}%; --y: ${(50 + high * dy).toFixed(1)}%`;
}

function player(held, k, frame, dealt) {
  const { seat, stack, net, bet = 0, won = 0, marks = [] } = held;
  const count = frame.players.length, at = place(k, count);
  const hole = dealt.hole[dealt.seats.indexOf(seat)];
  const move = frame.seat === seat ? dealt.told[frame.moves - 1] : null;
  const said = move && move.kind === "fold" ? marks.filter((mark) => mark !== "folded") : marks;
  const state = won ? " wins" : marks.includes("to act") ? " now" : marks.includes("folded") || !hole ? " out" : "";
  const parts = [el("article", { class: `place${state}`, style: spot(at, 40, 46) },
    el("h3", {}, key(seat), `seat_${seat}`, theirs(story.policies[seat])),
    el("div", { class: "row" }, hole ? cards(hole) : null,
      facts(fact("stack", stack), fact("net", signed(net), direction(net)))),
    bet ? el("p", { class: "small row" }, chips(bet), fact("bet", bet)) : null,
    move ? el("p", { class: "did" }, deed(move), move.by ? el("span", { class: "badge" }, move.by) : null) : null,
    said.length ? el("p", { class: "marks" }, said.join(" \u00B7 ")) : null,
    move && move.say ? el("p", { class: "say" }, theirs(move.say)) : null)];
  if (bet) parts.push(el("span", { class: "bet", "aria-hidden": "true", style: spot(at, 23, 18) }, chips(bet), bet));
  return parts;
}

function felt(frame, dealt) {
  const size = boards.at(-1);
  const board = Array.from({ length: size }, (_, k) => (k < frame.shown ? dealt.board[k] : ""));
  const middle = el("div", { class: "middle" },
    size ? cards(board) : null,
    el("p", { class: "pot" }, frame.pot ? chips(frame.pot) : null, el("b", {}, `pot ${frame.pot}`)),
    el("p", { class: "soft" }, frame.street));
  const high = frame.players.length > 2 ? "--high: 430px; --over: 34px" : "--high: 300px";
  return el("div", { class: "oval", style: high }, middle, ...frame.players.flatMap((held, k) => player(held, k, frame, dealt)));
}

// The decisions so far, by street.
function log(frame, dealt) {
  const rows = [];
  let street = -1;
  dealt.told.slice(0, frame.moves).forEach((move, k) => {
    if (move.street !== street) {
      street = move.street;
      const board = dealt.board.slice(0, boards[street] ?? 0);
      rows.push(el("h3", {}, streets[street], board.length ? cards(board, true) : null));
    }
    const now = k === frame.moves - 1 && frame.seat >= 0;
    rows.push(el("li", now ? { "aria-current": "step" } : {},
      key(move.seat), `seat_${move.seat} ${deed(move)}`, el("span", { class: "soft" }, ` \u00B7 pot ${move.pot}`),
      move.by ? el("span", { class: "badge" }, move.by) : null,
      move.say ? el("p", { class: "say" }, theirs(move.say)) : null));
  });
  if (frame.beat) frame.players.filter((held) => held.won).forEach((held) =>
    rows.push(el("li", {}, key(held.seat), el("b", { class: "up" }, `seat_${held.seat} wins ${held.won}`))));
  return rows.length ? rows : [el("li", { class: "soft" }, "The cards are dealt; nobody has acted.")];
}

function hand(dealt, now) {
  const told = dealt.told.map((move) => `seat_${move.seat} ${deed(move)}`).join(", ");
  const net = (k) => (dealt.net ? el("b", { class: direction(dealt.net[k]) }, signed(dealt.net[k])) : "void");
  return el("article", { class: `card deal-of${now ? " now" : ""}` },
    el("h3", {}, `hand ${dealt.hand + 1}`, now ? el("span", { class: "badge" }, "on the table") : null,
      dealt.mirror ? el("span", { class: "badge" }, "the same cards, other seats") : null,
      dealt.board.length ? cards(dealt.board, true) : null),
    table(`hand ${dealt.hand + 1}`, ["seat", "cards", "net"],
      dealt.seats.map((seat, k) => [who(seat), cards(dealt.hole[k], true), net(k)])),
    el("p", { class: "soft" }, told));
}

function pairOf(frame) {
  const live = story.hands[frame.hand];
  const both = story.hands.filter((dealt) => dealt.deal === live.deal);
  const shown = el("div", { class: "split" }, ...both.map((dealt) => hand(dealt, dealt.hand === frame.hand)));
  if (both.length < 2 || both.some((dealt) => !dealt.net)) return [shown];
  const sums = live.seats.toSorted((a, b) => a - b).map((seat) => {
    const net = both.reduce((sum, dealt) => sum + dealt.net[dealt.seats.indexOf(seat)], 0);
    return el("span", {}, key(seat), fact(`seat_${seat}`, signed(net), direction(net)));
  });
  return [shown, el("p", { class: "facts pair-sum" }, "Over both hands, luck of the cards cancelled:", ...sums)];
}

// Net chips after every hand, and the number of hands that are over at each frame.
function courses() {
  const course = [story.policies.map(() => 0)], over = [];
  for (const frame of story.frames) {
    if (frame.beat) {
      const nets = course[0].slice();
      frame.players.forEach((held) => { nets[held.seat] = held.net; });
      course.push(nets);
    }
    over.push(course.length - 1);
  }
  return { course, over };
}

function outcome() {
  const { results } = story;
  const best = Math.max(...results.scores);
  const extra = [
    ["stack", results.stacks && ((seat) => results.stacks[seat])],
    ["big blinds a hand", results.blinds[1] && !results.stacks && ((seat) => signed(results.units_per_hand[seat], 3))],
    ["chips a hand", !results.blinds[1] && ((seat) => signed(results.net_per_hand[seat], 3))],
    ["hands won", (seat) => results.hands_won[seat]],
    ["fallbacks", results.fallbacks.some(Boolean) && ((seat) => results.fallbacks[seat])],
    ["forced folds", results.forced_folds.some(Boolean) && ((seat) => results.forced_folds[seat])],
  ].filter(([, value]) => value);
  return panel("Results",
    table("Results", ["seat", "score", "net", ...extra.map(([name]) => name)], results.scores.map((score, seat) => [
      who(seat), el("b", score === best ? { class: "up" } : {}, score.toFixed(4)),
      el("span", { class: direction(results.net[seat]) }, signed(results.net[seat])), ...extra.map(([, value]) => value(seat))])),
    el("p", { class: "soft" }, `Even is ${(1 / results.seats).toFixed(4)}. Ended: ${results.reason}; ${results.hands_scored} hands scored.`));
}

const holdem = story.hands[0].hole[0].length === 2;
const kuhn = story.results.table === "kuhn";
const streets = holdem ? ["preflop", "flop", "turn", "river"] : ["first round", "second round"];
const boards = holdem ? [0, 3, 4, 5] : kuhn ? [0] : [0, 1]; // cards, a street

game = {
  beats: "the end of a hand",
  build(stage) {
    const box = (name, tag = "div") => { this[name] = el(tag, { class: name }); return this[name]; };
    const { course, over } = courses();
    this.over = over;
    const digits = "0".repeat(Math.max(...course.flat().map((net) => signed(net).length)));
    this.nets = chart({
      label: `Net chips after every hand, at the end: ${story.results.net.map((net, seat) => `seat_${seat} ${signed(net)}`).join(", ")}`,
      lines: story.policies.map((_, seat) => ({
        values: course.map((nets) => nets[seat]), color: color(seat),
        name: `seat_${seat} ${digits}`, text: (k) => `seat_${seat} ${signed(course[k][seat])}`,
      })),
      length: course.length, height: 200,
    });
    stage.append(
      box("results"),
      el("div", { class: "split", style: "--left: 2.2fr" },
        panel("The table", box("table")),
        panel("The hand so far", box("log", "ul"))),
      panel(story.hands.some((dealt) => dealt.mirror) ? "The duplicate pair: the same cards, the seats swapped" : "The whole hand", box("pair")),
      panel("Net chips after every hand", this.nets.node));
    this.results.classList.add("split");
  },
  show(frame, index) {
    const dealt = story.hands[frame.hand];
    this.table.replaceChildren(felt(frame, dealt));
    this.log.replaceChildren(...log(frame, dealt));
    this.log.scrollTop = this.log.scrollHeight;
    if (this.paired !== frame.hand) this.pair.replaceChildren(...pairOf(frame));
    this.paired = frame.hand;
    this.nets.at(this.over[index]);
    this.results.replaceChildren(...(index === last ? [outcome(), exploited(), audit()].filter(Boolean) : []));
  },
  tell(frame) {
    const dealt = story.hands[frame.hand];
    const wins = frame.players.filter((held) => held.won).map((held) => ` Seat_${held.seat} wins ${held.won}.`).join("");
    const move = frame.seat >= 0 ? dealt.told[frame.moves - 1] : null;
    const what = frame.note || (move ? `seat_${move.seat} ${deed(move)}` : wins ? "the hand is over" : "the cards are dealt");
    return `${frame.label}, ${frame.street}: ${what}.${wins}`;
  },
};
