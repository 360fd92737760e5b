// The lists of messages: the conversation and the thread. Only what has changed is built anew.

import { $, el, morph, sync } from "/dom.js";
import { icon } from "/icons.js";
import { emoji } from "/emoji.js";
import {
  state, drawn, redraw, revise, word, nameOf, here, isReply, placeOf, get, merged, isDm, markOf, markRead, unreadReplies,
} from "/state.js";
import { older, loadThread } from "/net.js";
import { clock, dayKey, dayLabel, fileSize, hue, lately } from "/format.js";
import { mrkdwn } from "/text.js";
import { blocks, image } from "/blocks.js";
import { surfaceOf } from "/elements.js";

/** How many messages a conversation shows at first, and how many more with each step backwards. */
const WINDOW = 60;
/** Messages of one person within this many seconds stand under one name. */
const TOGETHER = 300;
const LONG = 3500;

export function face(user, isBot, small) {
  const name = nameOf(user);
  const kind = isBot ? "bot" : hue(user);
  return el("span", { class: "face " + kind + (small ? " small" : ""), "aria-hidden": "true" }, isBot ? icon("leaf") : [...name][0] || "?");
}

// ---------------------------------------------------------------- text that grows

const growing = new Map();
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Cuts what lies behind `limit` characters and puts the caret there. */
function cut(body, limit) {
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  let left = limit;
  let last = null;
  const late = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left <= 0 && last) late.push(node);
    else {
      if (node.data.length > left) node.data = node.data.slice(0, left);
      left -= node.data.length;
      last = node;
    }
  }
  for (const node of late) {
    let gone = node;
    // An element that is left empty goes too, or a list would show its next bullet already.
    while (gone.parentNode !== body && gone.parentNode.childNodes.length === 1) gone = gone.parentNode;
    gone.remove();
  }
  const caret = el("span", { class: "caret", "aria-hidden": "true" });
  if (last && last.parentNode) last.after(caret);
  else body.append(caret);
}

function grow(m, body) {
  const key = surfaceOf(m);
  const known = growing.get(key);
  if (!m.streaming && !known) return;
  const total = body.textContent.length;
  const shown = calm.matches || document.hidden ? total : known ? Math.min(known.shown, total) : m.seen_whole ? total : 0;
  if (!m.streaming && shown >= total) { growing.delete(key); return; }
  growing.set(key, { channel: m.channel, ts: m.ts, shown, total });
  cut(body, shown);
  if (shown < total) requestAnimationFrame(step);
}

let stepping = false;
function step() {
  if (stepping) return;
  stepping = true;
  requestAnimationFrame(() => {
    stepping = false;
    let any = false;
    for (const [key, g] of growing) {
      if (g.shown >= g.total) continue;
      const room = state.rooms.get(g.channel);
      const m = room && (get(room.roots, g.ts) || [...room.threads.values()].map((t) => get(t.list, g.ts)).find(Boolean));
      if (!m) { growing.delete(key); continue; }
      // Fast enough never to lag behind by more than a moment, slow enough to be read along.
      g.shown += Math.max(2, Math.ceil((g.total - g.shown) / 9));
      revise(m);
      any = true;
    }
    if (any) redraw("log", "thread");
  });
}

// ---------------------------------------------------------------- one message

/** What the bot is doing, in its own words or ours; `null` when nothing is to be said. */
export function statusOf(place) {
  const status = state.statuses.get(place);
  const wait = state.waits.get(place);
  if (status) {
    const { loading, since } = status;
    return { text: loading.length ? loading[Math.floor((Date.now() - since) / 2500) % loading.length] : status.text, kind: "busy" };
  }
  if (wait && wait.told) return { text: word(wait.told), kind: wait.told === "bot_away" ? "away" : "busy" };
  return null;
}

export function statusLine(place) {
  const status = statusOf(place);
  const stoppable = state.can_stop && state.sessions.get(place) === "processing";
  if (!status && !stoppable) return [];
  const [channel, ts] = place.split("|");
  return [
    el("span", { class: status && status.kind === "away" ? "dots away" : "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
    el("span", { class: "status-text" }, status ? status.text : word("working")),
    stoppable ? el("button", { type: "button", class: "stop", "data-do": "stop", "data-channel": channel, "data-ts": ts }, icon("stop"), word("stop")) : [],
  ];
}

function fileNode(file) {
  const path = /^https?:\/\/[^/]+(\/files\/[^?#]+)/.exec(file.url_private || "");
  const href = path ? path[1] : "/files/" + encodeURIComponent(file.id) + "/" + encodeURIComponent(file.name);
  const title = file.title || file.name;
  const download = el("a", { class: "icon boxed", href, download: file.name, "aria-label": word("download", { name: title }) }, icon("download"));
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.mimetype || "")) {
    return el("div", { class: "file picture-file" }, image(href, title, title), download);
  }
  return el("div", { class: "file" }, icon("file"), el("span", { class: "file-name" }, el("b", {}, title), el("small", {}, fileSize(file.size || 0))), download);
}

function reactions(m) {
  if (!m.reactions || !m.reactions.length) return [];
  const one = (r) => {
    const mine = r.users.includes(state.me.id);
    const names = r.users.map(nameOf).join(word("comma"));
    return el("button", {
      type: "button", class: mine ? "reaction mine" : "reaction", "data-do": "reaction", "data-name": r.name, "data-key": r.name,
      "aria-pressed": String(mine), title: names, "aria-label": word("reaction_by", { name: r.name.replaceAll("_", " "), people: names, n: r.users.length }),
    }, el("span", { class: "emoji", "aria-hidden": "true" }, emoji(r.name) || ":" + r.name + ":"), el("span", { "aria-hidden": "true" }, String(r.users.length)));
  };
  return el("div", { class: "reactions" }, m.reactions.map(one),
    el("button", { type: "button", class: "reaction add", "data-do": "react", "aria-label": word("add_reaction") }, icon("smile")));
}

function threadLink(m, room) {
  const t = m.thread;
  if (!t || !t.count) return [];
  const fresh = unreadReplies(room, m);
  return el("button", { type: "button", class: fresh ? "more unread" : "more", "data-do": "thread" },
    el("span", { class: "faces" }, t.users.map((u) => face(u, u === state.bot.id, true))),
    el("span", { class: "count-of" }, word(t.count === 1 ? "reply_one" : "reply_many", { n: t.count })),
    fresh ? el("span", { class: "badge-new" }, word("n_new", { n: fresh })) : el("span", { class: "last" }, word("last_reply", { when: lately(t.last) })));
}

function tools(m, inThread) {
  if (m.ephemeral || m.tombstone) return [];
  const tool = (what, sign, label, extra) => el("button", { type: "button", class: "icon", "data-do": what, "aria-label": label, title: label, ...extra }, icon(sign));
  return el("div", { class: "tools", role: "group", "aria-label": word("message_actions") },
    tool("react", "smile", word("add_reaction")),
    inThread ? [] : tool("thread", "chat", word("new_thread")),
    tool("more", "more", word("more_actions"), { "aria-haspopup": "menu", "aria-expanded": "false" }));
}

function editForm(m) {
  return el("form", { class: "edit", "data-key": "edit", "data-own": true },
    el("textarea", { class: "field", rows: Math.min(8, state.editing.text.split("\n").length + 1), "aria-label": word("edit_message") }, state.editing.text),
    el("p", { class: "failed", hidden: true }),
    el("div", { class: "edit-buttons" },
      el("button", { type: "button", class: "press", "data-do": "edit-cancel" }, word("cancel")),
      el("button", { type: "submit", class: "press primary" }, word("save"))));
}

const isEdited = (m) => state.editing && state.editing.channel === m.channel && state.editing.ts === m.ts;

function bodyOf(m) {
  const body = el("div", { class: "body" });
  if (m.tombstone) body.append(el("p", { class: "gone" }, word("deleted")));
  else if (isEdited(m)) body.append(editForm(m));
  else {
    const said = Array.isArray(m.blocks) && m.blocks.length ? blocks(surfaceOf(m), m.blocks) : m.text ? mrkdwn(m.text) : [];
    const long = m.text.length > LONG && !(m.blocks && m.blocks.length) && !state.unfolded.has(surfaceOf(m));
    // A message that has a title is a card: it asks for something, or says what was done.
    if (Array.isArray(m.blocks) && m.blocks.some((b) => b && b.type === "header")) body.classList.add("card");
    body.append(...(long ? [el("div", { class: "folded" }, said)] : said));
    if (long) body.append(el("button", { type: "button", class: "unfold", "data-do": "unfold" }, word("show_all")));
    if (m.edited) (body.lastElementChild || body).append(el("span", { class: "mark" }, " " + word("edited")));
    if (m.streaming && !said.length) body.append(el("p", { class: "gone" }, word("writing")));
    grow(m, body);
    body.append(...(m.files || []).map(fileNode));
  }
  return body;
}

export function buildMessage(m, { room, inThread, grouped }) {
  const li = el("li", {
    class: ["message", grouped && "grouped", m.ephemeral && "ephemeral", isEdited(m) && "editing", m.streaming && "streaming"].filter(Boolean).join(" "),
    "data-ts": m.ts, "data-channel": m.channel, "data-user": m.user, tabindex: -1,
  });
  if (m.ephemeral) li.append(el("p", { class: "only-you" }, word("only_you")));
  const time = el("time", { title: clock(m.ts, true), datetime: new Date(Number(m.ts) * 1000).toISOString() }, clock(m.ts));
  const by = el("p", { class: "by" }, el("b", { class: "name" }, nameOf(m.user)));
  if (m.is_bot) by.append(el("span", { class: "badge" }, word("app_badge")));
  const person = state.people.get(m.user);
  if (person && person.note) by.append(el("span", { class: "badge" }, word(person.note === "guest" ? "guest" : "outside")));
  by.append(time);
  li.append(face(m.user, m.is_bot), el("div", { class: "main" }, by, bodyOf(m), reactions(m),
    inThread ? [] : threadLink(m, room), inThread ? [] : statusBelow(m)), tools(m, inThread));
  return li;
}

function statusBelow(m) {
  const line = statusLine(placeOf(m.channel, m.ts));
  return line.length ? el("div", { class: "status" }, line) : [];
}

function pendingItem(p) {
  const build = () => el("li", { class: p.failed ? "message pending failed-to-send" : "message pending", "data-pending": p.key, tabindex: -1 },
    face(state.me.id, false),
    el("div", { class: "main" },
      el("p", { class: "by" }, el("b", { class: "name" }, state.me.name), el("span", { class: "mark" }, p.failed ? "" : word("sending"))),
      el("div", { class: "body" }, el("div", { class: "text" }, p.text)),
      p.failed ? el("div", { class: "resend" },
        el("span", { class: "failed", role: "alert" }, icon("warn"), word(p.failed === "offline" ? "not_sent_offline" : p.failed === "command" ? "command_failed" : "not_sent")),
        el("button", { type: "button", class: "press small", "data-do": "retry" }, word("try_again")),
        el("button", { type: "button", class: "press small", "data-do": "discard" }, word("discard"))) : []));
  return { key: "p" + p.key, sign: String(p.failed), build };
}

const onTheWay = (channel, thread) => state.pending.filter((p) => p.channel === channel && (p.thread || "") === thread && !(p.ts && !p.failed));

// ---------------------------------------------------------------- lists

function pressesOf(m) {
  if (!state.presses.size) return "";
  const surface = surfaceOf(m) + "|";
  let sign = "";
  for (const [key, value] of state.presses) if (key.startsWith(surface)) sign += key + value;
  return sign;
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
    items.push({ key: m.ts, sign, build: () => buildMessage(m, { room, inThread, grouped }) });
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
  if (!room || state.tab !== "messages") return;
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
  items.push(...onTheWay(room.id, "").map(pendingItem));
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
  if (!thread || !thread.loaded) {
    if (!thread || !thread.loading) loadThread(room, state.thread).catch(() => undefined);
  }
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
  items.push(...onTheWay(room.id, state.thread).map(pendingItem));
  if (thread && thread.more) items.splice(root ? 2 : 0, 0, { key: "older", sign: "", build: () => el("li", { class: "older" }, el("button", { type: "button", class: "unfold", "data-do": "older-replies" }, word("older_replies"))) });
  sync($("thread-log"), items);
  oneStop($("thread-log"));
  const line = statusLine(place);
  const status = $("status");
  status.hidden = !line.length;
  morph(status, el("div", { id: "status", class: "status", hidden: !line.length, role: "status" }, line));
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
  const covered = state.thread && getComputedStyle($("main")).display === "none";
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

/** Keeps the mark from before a place was opened, for the line "new". */
export function lineFor(place, newest) {
  const mark = markOf(place);
  state.lines[place] = newest && newest > mark ? mark : "";
}

export function startMessages() {
  state.unfolded = new Set();
  state.editing = null;
  state.waits = new Map();
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

