// Where the person is: a conversation, the Home tab, a thread; and how they get there.

import { $ } from "/dom.js";
import { state, redraw, drawNow, here, placeOf, isDm, newRoom, lineFor } from "/state.js";
import { act } from "/net.js";

const moved = [];

/** Calls `told("channel" | "tab" | "thread")` when the person has gone somewhere. */
export function onMove(told) {
  moved.push(told);
}

const tell = (what) => moved.forEach((told) => told(what));

/** Puts where the person is into the address, so that a reload and the back button find it. */
export function note(push) {
  const place = { as: state.me.id, c: state.channel, ...(state.tab === "home" ? { tab: "home" } : {}), ...(state.thread ? { t: state.thread } : {}) };
  const hash = "#" + new URLSearchParams(place);
  if (hash !== location.hash) history[push ? "pushState" : "replaceState"](null, "", hash);
}

export const narrow = () => matchMedia("(max-width: 760px)").matches;

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
    tell("channel");
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
  tell("tab");
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
    tell("thread");
  }
  redraw("log", "thread", "head");
  drawNow();
  // On a phone the keyboard opens with the field, and covers what one came to read.
  if (root) $(narrow() && !begun ? "back" : "thread-text").focus();
  else {
    // Back to where the thread was opened from.
    const from = before && document.querySelector("#log .message[data-ts='" + CSS.escape(before) + "']");
    const more = from && from.querySelector(".more");
    (more || $("text")).focus();
  }
}
