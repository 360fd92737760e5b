// What the page knows, and when it is drawn. No node is touched here.

export const state = {
  me: null, bot: null, team: "", dm: "", people: new Map(), names: {}, groups: {}, words: {}, examples: [], banner: "",
  /** Conversations by id: `{id, name, is_im, …, roots, more, threads, privates, shown}`. */
  rooms: new Map(),
  /** `channel|root` → `{text, loading, since}`. */
  statuses: new Map(),
  /** `channel|root` → state of the agent's session. */
  sessions: new Map(),
  titles: new Map(),
  prompts: null, home: null, home_tab: false, modals: [],
  /** Where the person is: a conversation, the Home tab or not, a thread or none. */
  channel: "", tab: "messages", thread: "",
  /** A control that was used → `sending` or `failed`. */
  presses: new Map(),
  /** What was put into controls: surface → block → action → value. */
  entered: new Map(),
  /** Long messages that were unfolded, by surface. */
  unfolded: new Set(),
  /** The message that is being edited: `{channel, ts, text}`. */
  editing: null,
  /** What the bot has not answered yet: `channel|root` → `{since, ts, told}`. */
  waits: new Map(),
  /** Whether the examples are open; undefined while nobody has said so. */
  offered: undefined,
  /** Messages on their way: `{key, channel, thread, text, at, failed}`. */
  pending: [],
  /** When each place was last read; kept in the browser for each person. */
  marks: {},
  /** The line "new" of the open channel and thread: the mark from before they were opened. */
  lines: {},
  online: true,
  /** Whether the bot wants to hear of the Stop button. */
  can_stop: false,
};

let revision = 0;
export const revise = (thing) => { thing.rev = (revision += 1); return thing; };

// ---------------------------------------------------------------- words

export function word(name, values) {
  const text = state.words[name] || "";
  return values ? text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole)) : text;
}

/** A name for an id; never the id itself. */
export const nameOf = (id) => (Object.hasOwn(state.names, id) ? state.names[id] : word("somebody"));
export const channelNameOf = (id) => (Object.hasOwn(state.names, id) ? state.names[id] : word("a_private_channel"));
export const groupNameOf = (id) => (Object.hasOwn(state.groups, id) ? state.groups[id] : word("a_group"));

// ---------------------------------------------------------------- drawing

const drawers = new Map();
const dirty = new Set();
let asked = false;

/** Says how a part of the page is drawn. Parts are drawn in the order in which they were registered. */
export function drawn(part, draw) {
  drawers.set(part, draw);
}

/** Asks for parts of the page to be drawn anew, with the next frame; all of them when none is named. */
export function redraw(...parts) {
  for (const part of parts.length ? parts : drawers.keys()) dirty.add(part);
  if (asked) return;
  asked = true;
  // A hidden page gets no frames, and must still count what is unread.
  if (document.visibilityState === "visible") requestAnimationFrame(drawNow);
  else setTimeout(drawNow, 50);
}

export function drawNow() {
  asked = false;
  if (!state.me) return;
  for (const [part, draw] of drawers) {
    if (!dirty.delete(part)) continue;
    try {
      draw();
    } catch (error) {
      // The other parts go on.
      console.error(error);
    }
  }
}

// ---------------------------------------------------------------- messages

export const isReply = (m) => Boolean(m.thread_ts) && m.thread_ts !== m.ts;
export const rootOf = (m) => m.thread_ts || m.ts;
export const placeOf = (channel, root) => channel + "|" + root;
export const here = () => state.rooms.get(state.channel);
export const isDm = (id) => id === state.dm;

function find(list, ts) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].ts < ts) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Puts a message where it belongs in a sorted list. */
export function put(list, message) {
  const at = find(list, message.ts);
  list.splice(at, list[at] && list[at].ts === message.ts ? 1 : 0, message);
}

export function take(list, ts) {
  const at = find(list, ts);
  return list[at] && list[at].ts === ts ? list.splice(at, 1)[0] : null;
}

export const get = (list, ts) => {
  const at = find(list, ts);
  return list[at] && list[at].ts === ts ? list[at] : null;
};

/** A message that the page holds, wherever it stands. */
export function message(channel, ts) {
  const room = state.rooms.get(channel);
  if (!room) return null;
  const found = get(room.roots, ts) || get(room.privates, ts);
  if (found) return found;
  for (const thread of room.threads.values()) {
    const reply = get(thread.list, ts);
    if (reply) return reply;
  }
  return null;
}

/** Two sorted lists as one. */
export function merged(a, b) {
  if (!b.length) return a;
  return [...a, ...b].sort((x, y) => (x.ts < y.ts ? -1 : 1));
}

export function newRoom(channel) {
  return { ...channel, roots: [], more: false, threads: new Map(), privates: [], shown: 0 };
}

// ---------------------------------------------------------------- storage

export function kept(key, otherwise) {
  try {
    const text = localStorage.getItem(key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch { /* full or switched off: the page works without */ }
}

// ---------------------------------------------------------------- what is unread

const nowTs = () => (Date.now() / 1000).toFixed(6);

export function loadMarks() {
  const key = "read:" + state.me.id;
  state.marks = kept(key, null);
  if (!state.marks) {
    // Somebody who is here for the first time has nothing to catch up with.
    let since = nowTs();
    for (const room of state.rooms.values()) {
      for (const m of room.roots) since = [since, m.ts, m.thread ? m.thread.last : ""].sort().pop();
    }
    state.marks = { since };
    keep(key, state.marks);
  }
}

const markOf = (place) => {
  const mark = state.marks[place] || "";
  const since = state.marks.since || "";
  return mark > since ? mark : since;
};

/** Notes that everything up to `ts` was seen; true when that is news. */
export function markRead(place, ts) {
  if (!ts || ts <= markOf(place)) return false;
  // Another tab of the same person may have read further, elsewhere.
  state.marks = { ...kept("read:" + state.me.id, {}), ...state.marks, [place]: ts };
  const entries = Object.entries(state.marks);
  if (entries.length > 600) state.marks = Object.fromEntries(entries.sort((a, b) => (a[1] < b[1] ? 1 : -1)).slice(0, 400));
  state.marks.since ||= "";
  keep("read:" + state.me.id, state.marks);
  return true;
}

/** Keeps the mark from before a place was opened, for the line "new" before what came since. */
export function lineFor(place, newest) {
  const mark = markOf(place);
  state.lines[place] = newest && newest > mark ? mark : "";
}

const byOthers = (m) => m.user !== state.me.id && !m.tombstone;

/** How many replies of a thread are unread; only threads in which the person takes part count. */
export function unreadReplies(room, root) {
  const thread = root.thread;
  if (!thread || !thread.mine) return 0;
  const mark = markOf(placeOf(room.id, root.ts));
  return thread.recent.filter((ts) => ts > mark).length;
}

export function unread(room) {
  const mark = markOf(room.id);
  let count = 0;
  for (let i = room.roots.length - 1; i >= 0; i -= 1) {
    const m = room.roots[i];
    if (m.ts > mark && byOthers(m)) count += 1;
    count += unreadReplies(room, m);
  }
  for (const m of room.privates) if (m.ts > mark) count += 1;
  return count;
}
