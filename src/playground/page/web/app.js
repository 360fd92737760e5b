// A chat client of its own for the local workspace: where the person is, and how the parts are put together.

import { $, el } from "/dom.js";
import { state, redraw, drawNow, here, placeOf, isDm, kept, keep, newRoom } from "/state.js";
import { act, follow, read } from "/net.js";
import { startMessages, lineFor } from "/messages.js";
import { startActions } from "/actions.js";
import { startComposers, restoreDraft, resendAll } from "/composer.js";
import { startModal } from "/modal.js";
import { startHome, homeOpened } from "/home.js";
import { startSide } from "/side.js";
import { startUnderneath } from "/underneath.js";

// ---------------------------------------------------------------- where the person is

function note(push) {
  const place = { as: state.me.id, c: state.channel, ...(state.tab === "home" ? { tab: "home" } : {}), ...(state.thread ? { t: state.thread } : {}) };
  const hash = "#" + new URLSearchParams(place);
  if (hash !== location.hash) history[push ? "pushState" : "replaceState"](null, "", hash);
}

const narrow = () => matchMedia("(max-width: 760px)").matches;

export function openSide() {
  if (!narrow()) return;
  $("side").classList.add("open");
  $("menu").setAttribute("aria-expanded", "true");
}

export function closeSide() {
  $("side").classList.remove("open");
  $("menu").setAttribute("aria-expanded", "false");
}

export function openChannel(id, push) {
  if (!state.rooms.has(id)) state.rooms.set(id, newRoom({ id, is_im: true, is_private: true, has_bot: true, name: "" }));
  const changed = id !== state.channel;
  state.channel = id;
  if (changed) {
    state.thread = "";
    state.tab = "messages";
    state.editing = null;
    state.offered = undefined;
    const room = here();
    const last = room.roots[room.roots.length - 1];
    lineFor(id, last && last.ts);
    restoreDraft("text", "");
  }
  closeSide();
  note(push);
  redraw();
  if (isDm(id)) act("open", {}).catch(() => undefined);
}

export function openTab(tab, push) {
  if (tab !== state.tab) {
    state.tab = tab;
    state.thread = "";
    note(push);
    redraw();
  }
  if (tab === "home") homeOpened();
}

/**
 * Opens a thread beside the conversation; with no root it closes the one that is open. In one that the person has just
 * begun nothing is "new".
 */
export function openThread(root, push, begun) {
  const before = state.thread;
  state.thread = root;
  state.editing = null;
  note(push);
  if (root) {
    const room = here();
    const held = room.roots.find((m) => m.ts === root);
    lineFor(placeOf(room.id, root), !begun && held && held.thread ? held.thread.last : "");
    restoreDraft("thread-text", root);
  }
  redraw("log", "thread", "head");
  drawNow();
  if (root) $("thread-text").focus();
  else {
    // Back to where the thread was opened from.
    const from = before && document.querySelector("#log .message[data-ts='" + CSS.escape(before) + "']");
    const more = from && from.querySelector(".more");
    (more || $("text")).focus();
  }
}

// ---------------------------------------------------------------- beginning

function go(hash) {
  const wanted = hash.get("c");
  state.channel = "";
  openChannel(wanted && state.rooms.has(wanted) ? wanted : state.dm, false);
  if (hash.get("tab") === "home" && isDm(state.channel)) openTab("home", false);
  const thread = hash.get("t");
  if (thread && /^\d+\.\d+$/.test(thread)) openThread(thread, false);
  note(false);
}

async function loaded(same) {
  if (same) {
    // Threads are loaded anew when they are drawn; what was on its way goes on.
    if (!state.rooms.has(state.channel)) openChannel(state.dm, false);
  } else {
    go(new URLSearchParams(location.hash.slice(1)));
  }
  redraw();
  drawNow();
  performance.mark("drawn");
  resendAll();
}

function become(user) {
  keep("as", user);
  follow(user, loaded);
}

function buttons() {
  $("who").addEventListener("change", () => {
    history.pushState(null, "", "#" + new URLSearchParams({ as: $("who").value }));
    state.thread = "";
    become($("who").value);
  });
  $("menu").addEventListener("click", () => {
    if ($("side").classList.contains("open")) { closeSide(); return; }
    openSide();
    $("find").focus();
  });
  $("main").addEventListener("click", (event) => { if (!event.target.closest("#menu")) closeSide(); });
  for (const id of ["close", "back"]) $(id).addEventListener("click", () => openThread("", true));
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if ($("side").classList.contains("open")) { closeSide(); $("menu").focus(); }
      else if (state.thread) openThread("", true);
    } else if (event.key === "F6") {
      event.preventDefault();
      const stops = ["find", "text", "thread-text"].map($).filter((n) => n.offsetParent);
      const at = stops.findIndex((n) => n.closest("nav,main,aside").contains(document.activeElement));
      const next = stops[(at + (event.shiftKey ? stops.length - 1 : 1)) % stops.length];
      if (next) next.focus();
    }
  });
  window.addEventListener("popstate", () => {
    if (!state.me) return;
    const hash = new URLSearchParams(location.hash.slice(1));
    const as = hash.get("as");
    if (as && as !== state.me.id && state.people.has(as)) {
      $("who").value = as;
      become(as);
    } else {
      go(hash);
    }
  });
}

async function start() {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("as") || kept("as", "");
  // Who it is is known already for most visits: what they see is fetched beside the list of people.
  const early = wanted ? read("/page/state", { as: wanted }).catch(() => null) : null;
  startSide();
  startMessages();
  startActions();
  startComposers();
  startModal();
  startHome();
  startUnderneath();
  buttons();
  const { people } = await read("/page/people", {});
  const me = people.find((p) => p.id === wanted) || people[0];
  $("who").replaceChildren(...people.map((p) => el("option", { value: p.id }, p.name + (p.title ? " · " + p.title : ""))));
  $("who").value = me.id;
  keep("as", me.id);
  const first = await early;
  follow(me.id, loaded, first && first.me.id === me.id ? first : undefined);
}

// The workspace may still be starting.
start().catch(() => setTimeout(() => location.reload(), 1500));

