// Between the page and the workspace: requests, and the stream of changes.

import {
  state, redraw, revise, isReply, rootOf, placeOf, put, take, get, newRoom, loadMarks, kept, keep, word, nameOf, message,
} from "/state.js";
import { say } from "/dom.js";
import { plainOf } from "/text.js";

/** Why a request failed: `refused` by the workspace (with its reason), or `offline`: nobody knows what became of it. */
class Failed extends Error {
  constructor(kind, reason) {
    super(reason || kind);
    this.kind = kind;
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Failed("offline");
  }
  let body = null;
  try {
    body = await response.json();
  } catch { /* below */ }
  if (!response.ok) throw new Failed("refused", (body && body.error) || String(response.status));
  if (body === null) throw new Failed("offline");
  return body;
}

export function read(path, values) {
  return answer(fetch(path + "?" + new URLSearchParams(values), { signal: AbortSignal.timeout(15000) }));
}

/** An act of the person. */
export function act(path, body) {
  return answer(fetch("/page/" + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ as: state.me.id, ...body }),
    signal: AbortSignal.timeout(15000),
  }));
}

export function send(path, values, bytes) {
  const query = new URLSearchParams({ as: state.me.id, ...values });
  return answer(fetch("/page/" + path + "?" + query, {
    method: "POST", headers: { "content-type": "application/octet-stream" }, body: bytes, signal: AbortSignal.timeout(60000),
  }));
}

// ---------------------------------------------------------------- pages of messages

/** A message that was there before the page looked: it is shown whole, even if it still grows. */
const arrived = (m) => revise(Object.assign(m, m.streaming ? { seen_whole: true } : {}));

/** Older messages of a conversation; how many came. */
export async function older(room) {
  if (room.loading || !room.more || !room.roots.length) return 0;
  room.loading = true;
  try {
    const page = await read("/page/history", { as: state.me.id, channel: room.id, before: room.roots[0].ts });
    if (state.rooms.get(room.id) !== room) return 0;
    const before = room.roots.length;
    for (const m of page.messages) put(room.roots, arrived(m));
    room.more = page.more;
    return room.roots.length - before;
  } finally {
    room.loading = false;
  }
}

/** The newest replies of a thread, or those before the oldest that is here. */
export async function loadThread(room, root, before) {
  const thread = room.threads.get(root) || { list: [], more: false, loaded: false };
  room.threads.set(root, thread);
  if (thread.loading) return;
  thread.loading = true;
  thread.late = new Map();
  try {
    const page = await read("/page/thread", { as: state.me.id, channel: room.id, ts: root, ...(before ? { before } : {}) });
    if (!before) thread.list = [];
    for (const m of page.messages) put(thread.list, arrived(m));
    // What happened while the answer was on its way is newer than the answer.
    for (const [ts, m] of thread.late) if (m) put(thread.list, m); else take(thread.list, ts);
    if (page.root && !get(room.roots, root)) thread.root = revise(page.root);
    thread.more = page.more;
    thread.loaded = true;
  } catch (failed) {
    if (failed.kind === "refused") thread.loaded = true;
    thread.pause = Date.now() + 2000;
    setTimeout(() => redraw("thread"), 2100);
    throw failed;
  } finally {
    thread.loading = false;
    redraw("log", "thread", "side");
  }
}

// ---------------------------------------------------------------- what has changed

function noteSummary(room, root) {
  if (!root) return;
  const known = get(room.roots, root.ts);
  if (known) revise(Object.assign(known, { thread: root.thread }));
}

/** What comes where the person is, is read out; of threads those in which they take part. */
function announce(m, root) {
  if (m.user === state.me.id || m.channel !== state.channel) return;
  const mine = root && root.thread && root.thread.mine;
  if (!isReply(m) || m.thread_ts === state.thread || mine || m.ephemeral) say(nameOf(m.user) + ": " + plainOf(m));
}

/** Makes controls usable again whose press is answered by something other than a change of their message. */
function freePresses() {
  for (const [key, value] of state.presses) {
    if (value !== "sending") continue;
    state.presses.delete(key);
    const [channel, ts] = key.split("|");
    const m = message(channel, ts);
    if (m) revise(m);
  }
  redraw("log", "thread", "home");
}

function gotMessage({ message: m, root }, isNew) {
  const room = state.rooms.get(m.channel);
  if (!room) return;
  revise(m);
  const thread = isReply(m) && !m.ephemeral ? room.threads.get(m.thread_ts) : null;
  const list = m.ephemeral ? room.privates : isReply(m) ? thread && thread.list : room.roots;
  if (thread && thread.loading) thread.late.set(m.ts, m);
  if (list && !(list === room.roots && room.more && list.length && m.ts < list[0].ts)) put(list, m);
  // What somebody has scrolled back to must not leave the window at its other end.
  if (isNew && list === room.roots) room.shown += 1;
  noteSummary(room, root);
  const surface = m.channel + "|" + m.ts;
  for (const key of [...state.presses.keys()]) if (key.startsWith(surface + "|")) state.presses.delete(key);
  if (m.ephemeral) freePresses();
  if (m.is_bot) {
    state.statuses.delete(placeOf(m.channel, rootOf(m)));
  }
  if (isNew) announce(m, root);
  redraw("side", "log", "thread", "examples");
}

/** The message itself takes the place of the one that was on its way. */
function replaces(m) {
  const thread = isReply(m) ? m.thread_ts : "";
  const sent = state.pending.find((p) => !p.ts && !p.failed && !p.command && p.channel === m.channel && (p.thread || "") === thread);
  if (sent) sent.ts = m.ts;
}

function gone({ channel, ts, thread_ts }, root) {
  const room = state.rooms.get(channel);
  if (!room) return;
  const thread = thread_ts && thread_ts !== ts ? room.threads.get(thread_ts) : null;
  if (thread) take(thread.list, ts);
  if (thread && thread.loading) thread.late.set(ts, null);
  take(room.roots, ts);
  take(room.privates, ts);
  noteSummary(room, root);
  redraw("side", "log", "thread");
}

function setStatus({ channel, thread_ts, text, loading }) {
  const place = placeOf(channel, thread_ts);
  if (text) state.statuses.set(place, { text, loading: loading || [], since: Date.now() });
  else state.statuses.delete(place);
}

function apply(change) {
  if (change.message) {
    const m = change.message;
    gotMessage(change, change.posted);
    if (m.user === state.me.id && change.posted) replaces(m);
  }
  if (change.deleted) gone(change.deleted, change.root);
  if (change.status) { setStatus(change.status); redraw("log", "thread"); }
  if (change.session) {
    state.sessions.set(placeOf(change.session.channel, change.session.thread_ts), change.session.status);
    redraw("log", "thread");
  }
  if (change.title) { state.titles.set(placeOf(change.title.channel, change.title.thread_ts), change.title.title); redraw("thread"); }
  if (change.prompts) { state.prompts = change.prompts; redraw("examples"); }
  if (change.home) { state.home = change.home; redraw("home"); }
  if (change.modal) {
    const at = state.modals.findIndex((v) => v.id === change.modal.id);
    if (at < 0) state.modals.push(change.modal);
    else state.modals[at] = change.modal;
    // What was pressed has led to something.
    if (at < 0) freePresses();
    redraw("modal");
  }
  if (change.modal_closed) { state.modals = state.modals.filter((v) => v.id !== change.modal_closed); redraw("modal"); }
  if (change.channel && !state.rooms.has(change.channel.id)) {
    state.rooms.set(change.channel.id, newRoom(change.channel));
    if (change.channel.name) state.names[change.channel.id] = change.channel.name;
    redraw("side", "head", "log", "examples");
  }
}

// ---------------------------------------------------------------- everything at once

/** The message that is here already, if it is the same: then it need not be drawn again. */
function unchanged(old, m) {
  return old && JSON.stringify({ ...old, rev: undefined }) === JSON.stringify(m) ? old : null;
}

function takeOver(full) {
  const old = state.rooms;
  const same = state.me && state.me.id === full.me.id;
  const rooms = new Map();
  for (const channel of full.channels) {
    const room = newRoom(channel);
    const page = full.rooms[channel.id] || { messages: [], more: false };
    const before = same && old.get(channel.id);
    room.roots = page.messages.map((m) => (before && unchanged(get(before.roots, m.ts), m)) || arrived(m));
    room.more = page.more;
    if (before) {
      room.shown = before.shown;
      // What is open stays on the screen until it has been loaded anew.
      for (const [root, thread] of before.threads) room.threads.set(root, { ...thread, loaded: false, loading: false });
    }
    rooms.set(channel.id, room);
  }
  Object.assign(state, {
    me: full.me, bot: full.bot, team: full.team, dm: full.dm, names: full.names, groups: full.groups, words: full.words,
    people: new Map(full.people.map((p) => [p.id, p])), examples: full.examples, banner: full.banner || "",
    prompts: full.prompts, home: full.home, home_tab: full.home_tab, modals: full.modals, can_stop: full.can_stop, rooms,
    statuses: new Map(), sessions: new Map(full.sessions.map((s) => [placeOf(s.channel, s.thread_ts), s.status])),
    titles: new Map(full.titles.map((t) => [placeOf(t.channel, t.thread_ts), t.title])),
  });
  for (const m of full.privates) if (rooms.has(m.channel)) put(rooms.get(m.channel).privates, revise(m));
  full.statuses.forEach(setStatus);
  state.presses.clear();
  if (!same) {
    state.entered.clear();
    state.waits.clear();
    state.editing = null;
    state.lines = {};
    state.pending = kept("pending:" + full.me.id, []);
  }
  loadMarks();
  return same;
}

let source = null;
let waiting = null;
let begun = 0;
let onLoad = () => undefined;

async function show(full) {
  const same = takeOver(full);
  const changes = waiting || [];
  waiting = null;
  changes.forEach(apply);
  await onLoad(same);
}

/** Loads everything, then what has happened meanwhile. */
async function load(user) {
  waiting = [];
  const turn = (begun += 1);
  const full = await read("/page/state", { as: user });
  if (turn !== begun) return;
  online(true);
  await show(full);
}

function online(yes) {
  if (state.online === yes) return;
  state.online = yes;
  if (yes) say(word("online_again"));
  redraw("trouble");
  if (yes) document.dispatchEvent(new Event("online-again"));
}

/**
 * Follows the changes that a person may see. `loaded(same)` is called after each full load; `same` says whether the
 * person is the one from before. `early` is what was loaded before; it is shown until a load after the beginning of the
 * stream replaces it, since something may have happened in between.
 */
export function follow(user, loaded, early) {
  onLoad = loaded;
  if (source) source.close();
  source = new EventSource("/page/events?as=" + encodeURIComponent(user));
  const mine = source;
  const lost = () => { if (mine === source) online(false); };
  const again = (pause) => setTimeout(() => { if (mine === source) follow(user, loaded); }, pause);
  // Said at the beginning and after every gap: only a full load is certain to miss nothing.
  mine.addEventListener("hello", () => load(user).catch(() => { lost(); again(1500); }));
  mine.addEventListener("change", (event) => {
    const change = JSON.parse(event.data);
    if (waiting) waiting.push(change);
    else if (state.me) apply(change);
    document.dispatchEvent(new Event("changed"));
  });
  mine.addEventListener("error", () => {
    lost();
    // The browser's own pause is longer than a person's patience.
    mine.close();
    again(1000);
  });
  if (early) show(early);
}

// ---------------------------------------------------------------- many tabs

/** A browser has six connections for all tabs of the page together, and each stream holds one. */
const STREAMS = 4;
let again = null;

async function tooMany() {
  if (!navigator.locks) return false;
  const { held } = await navigator.locks.query();
  return held.filter((lock) => lock.name === "tab").length > STREAMS;
}

// Held until the tab is closed, so that the tabs can be counted.
if (navigator.locks) navigator.locks.request("tab", { mode: "shared" }, () => new Promise(() => undefined)).catch(() => undefined);

document.addEventListener("visibilitychange", async () => {
  if (!document.hidden && again) {
    again();
    again = null;
  } else if (document.hidden && source && await tooMany() && document.hidden) {
    const user = state.me && state.me.id;
    source.close();
    if (user) again = () => follow(user, onLoad);
  }
});

export function keepPending() {
  keep("pending:" + state.me.id, state.pending.map((p) => ({ ...p, ts: undefined, busy: undefined })));
}

window.addEventListener("storage", (event) => {
  if (!state.me || event.key !== "read:" + state.me.id) return;
  const theirs = kept(event.key, {});
  for (const [place, ts] of Object.entries(theirs)) if (ts > (state.marks[place] || "")) state.marks[place] = ts;
  redraw("side", "log");
});

