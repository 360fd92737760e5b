// One message: who, when, what it says and shows, and what stands below it.

import { el } from "/dom.js";
import { icon } from "/icons.js";
import { emoji } from "/emoji.js";
import { state, redraw, revise, word, nameOf, message as find, placeOf, unreadReplies } from "/state.js";
import { clock, fileSize, hue, lately } from "/format.js";
import { mrkdwn } from "/text.js";
import { blocks, image } from "/blocks.js";
import { surfaceOf } from "/elements.js";

/** Longer words are folded until somebody wants to see them all. */
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
      const m = find(g.channel, g.ts);
      if (!m) { growing.delete(key); continue; }
      // Fast enough never to lag behind by more than a moment, slow enough to be read along.
      g.shown += Math.max(2, Math.ceil((g.total - g.shown) / 9));
      revise(m);
      any = true;
    }
    if (any) redraw("log", "thread");
  });
}

// ---------------------------------------------------------------- what the bot is doing

/** What the bot is doing, in its own words or ours; `null` when nothing is to be said. */
export function statusOf(place) {
  const status = state.statuses.get(place);
  const wait = state.waits.get(place);
  if (status) {
    const { loading, since } = status;
    return { text: loading.length ? loading[Math.floor((Date.now() - since) / 2500) % loading.length] : status.text, kind: "busy", turns: loading.length > 1 };
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

// ---------------------------------------------------------------- its parts

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
  const keyed = (label, key) => ({ title: label + " (" + key + ")", "aria-keyshortcuts": key });
  return el("div", { class: "tools", role: "group", "aria-label": word("message_actions") },
    tool("react", "smile", word("add_reaction"), keyed(word("add_reaction"), "R")),
    inThread ? [] : tool("thread", "chat", word("new_thread"), keyed(word("new_thread"), "T")),
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

export const isEdited = (m) => state.editing && state.editing.channel === m.channel && state.editing.ts === m.ts;

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

/** The item of a list; `grouped` stands under the name of the one before. */
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

/** A message that is still on its way, or could not be sent. */
export function buildPending(p) {
  return el("li", { class: p.failed ? "message pending failed-to-send" : "message pending", "data-pending": p.key, tabindex: -1 },
    face(state.me.id, false),
    el("div", { class: "main" },
      el("p", { class: "by" }, el("b", { class: "name" }, state.me.name), el("span", { class: "mark" }, p.failed ? "" : word("sending"))),
      el("div", { class: "body" }, el("div", { class: "text" }, p.text)),
      p.failed ? el("div", { class: "resend" },
        el("span", { class: "failed", role: "alert" }, icon("warn"), word(p.failed === "offline" ? "not_sent_offline" : p.failed === "command" ? "command_failed" : "not_sent")),
        el("button", { type: "button", class: "press small", "data-do": "retry" }, word("try_again")),
        el("button", { type: "button", class: "press small", "data-do": "discard" }, word("discard"))) : []));
}
