// The lists of messages: the conversation and the thread. Only what has changed is built anew.

import { $, el, morph, sync } from "/dom.js";
import {
  state, drawn, redraw, word, nameOf, here, isReply, placeOf, get, merged, isDm, markRead, unreadReplies,
} from "/state.js";
import { older, loadThread } from "/net.js";
import { dayKey, dayLabel } from "/format.js";
import { surfaceOf } from "/elements.js";
import { buildMessage, buildPending, face, isEdited, statusLine, statusOf } from "/message.js";

/** How many messages a conversation shows at first, and how many more with each step backwards. */
const WINDOW = 60;
/** Messages of one person within this many seconds stand under one name. */
const TOGETHER = 300;

const onTheWay = (channel, thread) => state.pending.filter((p) => p.channel === channel && (p.thread || "") === thread && !(p.ts && !p.failed));

function pressesOf(m) {
  if (!state.presses.size) return "";
  const surface = surfaceOf(m) + "|";
  let sign = "";
  for (const [key, value] of state.presses) if (key.startsWith(surface)) sign += key + value;
  return sign;
}

/** One message that cannot be drawn must not take the others with it. */
function whatever(m, how) {
  try {
    return buildMessage(m, how);
  } catch (error) {
    console.error(error);
    return el("li", { class: "message", "data-ts": m.ts, "data-channel": m.channel, tabindex: -1 },
      el("p", { class: "gone" }, word("cannot_show", { kind: nameOf(m.user) })));
  }
}

/** The items of a list: days, the line "new", messages. */
function itemsOf(list, { room, inThread, line, count }) {
  const items = [];
  let day = "";
  let before = null;
  let lined = !line;
  for (const m of list) {
    if (!inThread && dayKey(m.ts) !== day) {
      day = dayKey(m.ts);
      const label = dayLabel(m.ts);
      items.push({ key: "day" + day, sign: label, build: () => el("li", { class: "day" }, el("span", {}, label)) });
      before = null;
    }
    if (!lined && m.ts > line && m.user !== state.me.id) {
      lined = true;
      items.push({ key: "new", sign: word("new_line"), build: () => el("li", { class: "new-line" }, el("span", {}, word("new_line"))) });
      before = null;
    }
    const grouped = Boolean(before) && before.user === m.user && !before.tombstone && !m.tombstone && !m.ephemeral && !before.ephemeral
      && Number(m.ts) - Number(before.ts) < TOGETHER;
    const place = placeOf(m.channel, m.ts);
    const below = inThread ? "" : JSON.stringify([statusOf(place), state.sessions.get(place), m.thread && unreadReplies(room, m)]);
    const sign = [m.rev, grouped, below, pressesOf(m), isEdited(m), state.unfolded.size, state.me.id, state.me.lang].join("|");
    items.push({ key: m.ts, sign, build: () => whatever(m, { room, inThread, grouped }) });
    before = m;
    if (count && m === list[0]) {
      items.push({ key: "count", sign: count, build: () => el("li", { class: "count" }, el("span", {}, count)) });
      before = null;
    }
  }
  return items;
}

const nearEnd = (scroll) => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 90;
const toEnd = (scroll) => { scroll.scrollTop = scroll.scrollHeight; };

/** One stop of the Tab key per list: the message that had the focus last, or the newest. */
function oneStop(list) {
  const messages = [...list.querySelectorAll(":scope > .message")];
  if (!messages.length || messages.some((m) => m.tabIndex === 0)) return;
  messages[messages.length - 1].tabIndex = 0;
}

let at = "";

function drawLog() {
  const room = here();
  const scroll = $("scroll");
  if (!room) return;
  if (state.tab !== "messages") {
    // What is not shown has no place to go back to.
    at = "";
    return;
  }
  const moved = at !== state.me.id + room.id;
  if (moved) {
    at = state.me.id + room.id;
    room.shown = WINDOW;
    $("log").replaceChildren();
  }
  const stick = moved || nearEnd(scroll);
  room.shown = Math.max(room.shown, WINDOW);
  if (stick && room.shown > 3 * WINDOW) room.shown = WINDOW;
  const roots = merged(room.roots.slice(-room.shown), room.privates.filter((m) => !isReply(m)));
  const items = itemsOf(roots, { room, line: state.lines[room.id] });
  const hidden = room.roots.length > room.shown || room.more;
  if (hidden) items.unshift({ key: "older", sign: word("loading_older"), build: () => el("li", { class: "older" }, word("loading_older")) });
  items.push(...onTheWay(room.id, "").map((p) => ({ key: "p" + p.key, sign: String(p.failed), build: () => buildPending(p) })));
  if (!items.length) {
    const text = word(isDm(room.id) ? "empty_dm" : room.has_bot ? "empty_channel" : "no_bot_here");
    items.push({ key: "empty", sign: text, build: () => el("li", { class: "empty" }, face(state.bot.id, true), el("p", {}, text)) });
  }
  const height = scroll.scrollHeight;
  const top = scroll.scrollTop;
  const first = $("log").querySelector(".message");
  sync($("log"), items);
  // Off the screen the browser may skip the layout of a long list, at the price of guessing its height.
  $("log").classList.toggle("long", items.length > 3 * WINDOW);
  oneStop($("log"));
  if (moved) {
    const line = $("log").querySelector(".new-line");
    toEnd(scroll);
    if (line && line.offsetTop < scroll.scrollTop) scroll.scrollTop = Math.max(0, line.offsetTop - 60);
  } else if (stick) toEnd(scroll);
  else if (first && first.isConnected && $("log").querySelector(".message") !== first) scroll.scrollTop = top + scroll.scrollHeight - height;
  $("newer").hidden = nearEnd(scroll);
  // On a tall screen there may be nothing to scroll yet.
  if (hidden && scroll.scrollHeight - scroll.clientHeight < 400) back();
  seen();
}

async function back() {
  const room = here();
  if (!room || room.stepping) return;
  if (room.roots.length > room.shown) {
    room.shown += WINDOW;
    redraw("log");
  } else if (room.more) {
    room.stepping = true;
    try {
      room.shown += await older(room);
    } catch { /* the line "loading" stays; the next scroll asks again */ }
    room.stepping = false;
    redraw("log");
  }
}

let threadAt = "";

function drawThread() {
  const open = Boolean(state.thread);
  const room = here();
  $("thread").hidden = !open;
  $("app").classList.toggle("with-thread", open);
  if (!open || !room) { threadAt = ""; return; }
  const thread = room.threads.get(state.thread);
  if (!thread || !(thread.loaded || thread.loading || thread.pause > Date.now())) loadThread(room, state.thread).catch(() => undefined);
  const scroll = $("thread-scroll");
  const moved = threadAt !== room.id + state.thread;
  if (moved) {
    threadAt = room.id + state.thread;
    $("thread-log").replaceChildren();
  }
  const stick = moved || nearEnd(scroll);
  const root = get(room.roots, state.thread) || (thread && thread.root);
  const replies = merged(thread ? thread.list : [], room.privates.filter((m) => isReply(m) && m.thread_ts === state.thread));
  const place = placeOf(room.id, state.thread);
  const n = (root && root.thread && root.thread.count) || replies.filter((m) => !m.ephemeral).length;
  const count = n ? word(n === 1 ? "reply_one" : "reply_many", { n }) : "";
  const items = itemsOf(root ? [root, ...replies] : replies, { room, inThread: true, line: state.lines[place], count });
  items.push(...onTheWay(room.id, state.thread).map((p) => ({ key: "p" + p.key, sign: String(p.failed), build: () => buildPending(p) })));
  if (thread && thread.more) items.splice(root ? 2 : 0, 0, { key: "older", sign: "", build: () => el("li", { class: "older" }, el("button", { type: "button", class: "unfold", "data-do": "older-replies" }, word("older_replies"))) });
  sync($("thread-log"), items);
  oneStop($("thread-log"));
  const line = statusLine(place);
  const status = $("status");
  status.hidden = !line.length;
  // Words that take turns are for the eye; read out, they would never end.
  const turns = (statusOf(place) || {}).turns;
  morph(status, el("div", { id: "status", class: "status", hidden: !line.length, role: "status", "aria-live": turns ? "off" : undefined }, line));
  $("thread-title").textContent = state.titles.get(place) || word("thread");
  $("thread-where").textContent = isDm(room.id) ? state.bot.name : "#" + room.name;
  if (stick) toEnd(scroll);
  seen();
}

/** What lies on the screen is read. */
export function seen() {
  const room = here();
  if (!room || document.hidden || state.tab !== "messages") return;
  let news = false;
  const covered = state.thread && getComputedStyle($("main")).visibility === "hidden";
  const last = room.roots[room.roots.length - 1];
  const lastPrivate = room.privates[room.privates.length - 1];
  if (!covered && nearEnd($("scroll"))) {
    for (const m of [last, lastPrivate]) if (m) news = markRead(room.id, m.ts) || news;
  }
  const thread = state.thread && room.threads.get(state.thread);
  if (thread && thread.list.length && nearEnd($("thread-scroll"))) {
    news = markRead(placeOf(room.id, state.thread), thread.list[thread.list.length - 1].ts) || news;
  }
  if (news) redraw("side", "log");
}

export function startMessages() {
  drawn("log", drawLog);
  drawn("thread", drawThread);
  $("scroll").addEventListener("scroll", () => {
    if ($("scroll").scrollTop < 400) back();
    $("newer").hidden = nearEnd($("scroll"));
    seen();
  }, { passive: true });
  $("thread-scroll").addEventListener("scroll", seen, { passive: true });
  $("newer").addEventListener("click", () => { toEnd($("scroll")); $("text").focus(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) redraw("log", "thread", "side"); });
  // A picture that has come, and a keyboard that opens on a phone, must not push the newest message out of sight.
  for (const id of ["scroll", "thread-scroll"]) {
    let end = true;
    $(id).addEventListener("scroll", () => { end = nearEnd($(id)); }, { passive: true });
    new ResizeObserver(() => { if (end) toEnd($(id)); }).observe($(id));
    $(id).addEventListener("load", () => { if (end) toEnd($(id)); }, true);
  }
  setInterval(() => {
    const turns = [...state.statuses.values()].some((s) => s.loading.length > 1);
    for (const [place, s] of state.statuses) if (Date.now() - s.since > 120000) { state.statuses.delete(place); redraw("log", "thread"); }
    if (turns) redraw("log", "thread");
  }, 1250);
}

