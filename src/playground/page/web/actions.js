// What a person does with messages: open a thread, react, edit, delete, stop the bot, send once more.

import { $, rove, say } from "/dom.js";
import { state, redraw, revise, word, message, here, rootOf } from "/state.js";
import { act, loadThread } from "/net.js";
import { ask, openMenu, pickReaction } from "/popup.js";
import { surfaceOf } from "/elements.js";
import { openThread } from "/place.js";

const told = (failed) => say(word(failed.kind === "offline" ? "not_done_offline" : "not_done"), true);

function touched(m) {
  revise(m);
  redraw("log", "thread");
}

/** Gives a reaction or takes it back; shown at once, put right if it was refused. */
async function react(m, name) {
  const mine = (m.reactions || []).some((r) => r.name === name && r.users.includes(state.me.id));
  const before = m.reactions || [];
  const others = before.map((r) => (r.name === name ? { ...r, users: r.users.filter((u) => u !== state.me.id) } : r));
  if (mine) m.reactions = others.filter((r) => r.users.length);
  else if (before.some((r) => r.name === name)) m.reactions = others.map((r) => (r.name === name ? { ...r, users: [...r.users, state.me.id] } : r));
  else m.reactions = [...before, { name, users: [state.me.id] }];
  touched(m);
  try {
    await act("react", { channel: m.channel, ts: m.ts, name, on: !mine });
  } catch (failed) {
    m.reactions = before;
    touched(m);
    told(failed);
  }
}

const unescape = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

/** A message as it was typed: mentions by their handles. */
function asTyped(text) {
  const handle = (id) => (id === state.bot.id ? state.bot.handle : (state.people.get(id) || {}).handle);
  return unescape(text.replace(/<@([^|>]+)[^>]*>/g, (whole, id) => (handle(id) ? "@" + handle(id) : whole)));
}

export function edit(m) {
  state.editing = { channel: m.channel, ts: m.ts, text: asTyped(m.text) };
  touched(m);
  requestAnimationFrame(() => {
    const field = document.querySelector(".edit textarea");
    if (!field) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    field.scrollIntoView({ block: "nearest" });
  });
}

function endEdit() {
  const { channel, ts } = state.editing;
  state.editing = null;
  const m = message(channel, ts);
  if (m) touched(m);
  requestAnimationFrame(() => {
    const li = document.querySelector(".message[data-ts='" + CSS.escape(ts) + "']");
    if (li) li.focus();
  });
}

async function saveEdit(form) {
  const { channel, ts, text: before } = state.editing;
  const text = form.querySelector("textarea").value.trim();
  if (!text || text === before) { endEdit(); return; }
  try {
    await act("edit", { channel, ts, text });
    endEdit();
  } catch (failed) {
    const line = form.querySelector(".failed");
    line.textContent = word(failed.kind === "offline" ? "not_done_offline" : "not_done");
    line.hidden = false;
  }
}

async function remove(m) {
  const yes = await ask({ title: word("delete_title"), text: word("delete_text"), yes: word("delete"), danger: true });
  if (yes) act("remove", { channel: m.channel, ts: m.ts }).catch(told);
}

function copy(m) {
  const text = document.querySelector(".message[data-ts='" + CSS.escape(m.ts) + "'] .body");
  if (navigator.clipboard && text) navigator.clipboard.writeText(text.innerText).then(() => say(word("copied")), () => undefined);
}

function more(m, anchor) {
  const mine = m.user === state.me.id;
  const inThread = Boolean(anchor.closest("#thread-log"));
  openMenu(anchor, word("more_actions"), [
    { label: word("add_reaction"), sign: "smile", act: () => pickReaction(anchor, (name) => react(m, name)) },
    ...(inThread ? [] : [{ label: word("new_thread"), sign: "chat", act: () => openThread(rootOf(m), true) }]),
    { label: word("copy_text"), sign: "file", act: () => copy(m) },
    ...(mine ? [
      { label: word("edit_message"), sign: "pencil", act: () => edit(m) },
      { label: word("delete_message"), sign: "trash", danger: true, act: () => remove(m) },
    ] : []),
  ]);
}

function at(node) {
  const li = node.closest(".message");
  return li && li.dataset.ts ? message(li.dataset.channel, li.dataset.ts) : null;
}

const ACTS = {
  thread: (m) => m && openThread(rootOf(m), true),
  react: (m, control) => m && pickReaction(control, (name) => react(m, name)),
  reaction: (m, control) => m && react(m, control.dataset.name),
  more: (m, control) => m && more(m, control),
  unfold: (m) => { if (m) { state.unfolded.add(surfaceOf(m)); touched(m); } },
  "edit-cancel": () => endEdit(),
  stop: (_, control) => {
    const { channel, ts } = control.dataset;
    control.setAttribute("aria-disabled", "true");
    act("stop", { channel, ts }).then(() => say(word("stopping")), told);
  },
  "older-replies": () => {
    const room = here();
    const thread = room && room.threads.get(state.thread);
    if (thread && thread.list.length) loadThread(room, state.thread, thread.list[0].ts).catch(told);
  },
};

function keys(event) {
  const li = event.target;
  if (!li.classList.contains("message") || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  if (rove(event, [...li.parentNode.querySelectorAll(":scope > .message")])) return;
  const m = at(li);
  if (!m || m.tombstone) return;
  const mine = m.user === state.me.id;
  const inThread = li.parentNode.id === "thread-log";
  const does = {
    Enter: !inThread && !m.ephemeral && (() => openThread(rootOf(m), true)),
    t: !inThread && !m.ephemeral && (() => openThread(rootOf(m), true)),
    r: !m.ephemeral && (() => pickReaction(li.querySelector("[data-do=react]"), (name) => react(m, name))),
    e: mine && !m.ephemeral && (() => edit(m)),
    Delete: mine && !m.ephemeral && (() => remove(m)),
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

export function startActions() {
  document.addEventListener("click", (event) => {
    const control = event.target.closest("[data-do]");
    if (!control || !Object.hasOwn(ACTS, control.dataset.do) || control.getAttribute("aria-disabled") === "true") return;
    ACTS[control.dataset.do](at(control), control);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.classList.contains("edit")) return;
    event.preventDefault();
    saveEdit(event.target);
  });
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest(".edit");
    if (!form || event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey && event.target.tagName === "TEXTAREA") { event.preventDefault(); saveEdit(form); }
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); endEdit(); }
  }, true);
  for (const id of ["log", "thread-log"]) {
    $(id).addEventListener("keydown", keys);
    $(id).addEventListener("focusin", (event) => {
      const li = event.target.closest(".message");
      if (!li) return;
      for (const other of $(id).querySelectorAll(":scope > .message[tabindex='0']")) if (other !== li) other.tabIndex = -1;
      li.tabIndex = 0;
    });
  }
}

