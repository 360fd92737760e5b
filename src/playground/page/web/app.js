// A chat client of its own for the local workspace: how its parts are put together.

import { $, el } from "/dom.js";
import { state, redraw, drawNow, isDm, kept, keep } from "/state.js";
import { follow, read } from "/net.js";
import { closeSide, note, openChannel, narrow, openSide, openTab, openThread } from "/place.js";
import { startMessages } from "/messages.js";
import { startActions } from "/actions.js";
import { startComposers, resendAll } from "/composer.js";
import { startModal } from "/modal.js";
import { startHome } from "/home.js";
import { startSide } from "/side.js";
import { startUnderneath } from "/underneath.js";

function go(hash) {
  const wanted = hash.get("c");
  state.channel = "";
  openChannel(wanted && state.rooms.has(wanted) ? wanted : state.dm, false);
  if (hash.get("tab") === "home" && isDm(state.channel) && state.home_tab) openTab("home", false);
  const thread = hash.get("t");
  if (thread && /^\d+\.\d+$/.test(thread)) openThread(thread, false);
  note(false);
}

async function loaded(same) {
  if (same) {
    // Threads are loaded anew when they are drawn; what was on its way goes on.
    if (!state.rooms.has(state.channel)) openChannel(state.dm, false);
    if (!state.home_tab) state.tab = "messages";
  } else {
    go(new URLSearchParams(location.hash.slice(1)));
  }
  redraw();
  drawNow();
  if (!same && !narrow() && document.activeElement === document.body) $("text").focus();
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
  // Before the messages: only what is shown can be scrolled to its end.
  startHome();
  startMessages();
  startActions();
  startComposers();
  startModal();
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

