// The side: who one is, where one can go, what is unread; and the line above everything when something is wrong.

import { $, el, fill, rove } from "/dom.js";
import { icon } from "/icons.js";
import { state, drawn, redraw, word, isDm, unread } from "/state.js";
import { openChannel, closeSide, openSide } from "/place.js";

let query = "";

const plain = (text) => text.normalize("NFKC").toLocaleLowerCase().replace(/[ァ-ヶ]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0x60));
const wanted = (text) => !query || plain(text).includes(plain(query));

const sigil = (room) => (room.is_group ? "chat" : room.is_private ? "lock" : "hash");

function place(room, label, sign) {
  const count = room.id === state.channel && !document.hidden && state.tab === "messages" ? 0 : unread(room);
  const current = room.id === state.channel;
  return el("li", { "data-key": room.id },
    el("button", {
      type: "button", "data-channel": room.id, "aria-current": current ? "page" : undefined, class: count ? "unread" : undefined,
      tabindex: current ? 0 : -1, "aria-label": count ? word("unread_in", { name: label, n: count }) : undefined,
    }, icon(sign), el("span", { class: "place-name" }, label), room.is_external ? el("small", {}, word("external")) : [],
    count ? el("span", { class: "number", "aria-hidden": "true" }, count > 99 ? "99+" : String(count)) : []));
}

function section(id, title, items) {
  return items.length ? el("section", { "data-key": id, "aria-labelledby": id }, el("h2", { id }, title), el("ul", {}, items)) : [];
}

function draw() {
  const rooms = [...state.rooms.values()];
  const named = rooms.filter((r) => !r.is_im && wanted(r.name)).map((r) => place(r, r.name, sigil(r)));
  const dm = state.rooms.get(state.dm) || { id: state.dm, roots: [], privates: [] };
  const direct = wanted(state.bot.name) ? [place(dm, state.bot.name, "leaf")] : [];
  const parts = [section("apps-title", word("direct_message"), direct), section("channels-title", word("channels"), named)].flat();
  fill($("places"), parts.length ? parts : [el("p", { class: "none" }, word("nothing_found"))]);
  const all = items();
  if (all.length && !all.some((b) => b.tabIndex === 0)) all[0].tabIndex = 0;
  const total = rooms.reduce((sum, r) => sum + (r.id === state.channel && !document.hidden ? 0 : unread(r)), 0);
  const room = state.rooms.get(state.channel);
  const name = isDm(state.channel) ? state.bot.name : room ? "#" + room.name : "";
  document.title = (total ? "(" + total + ") " : "") + name + " – " + state.team;
  $("menu").classList.toggle("has-unread", total > 0);
}

const items = () => [...$("places").querySelectorAll("[data-channel]")];

function drawHead() {
  const room = state.rooms.get(state.channel);
  const dm = isDm(state.channel);
  fill($("where"), dm ? [icon("leaf"), el("span", {}, state.bot.name), el("span", { class: "badge" }, word("app_badge"))]
    : room ? [icon(sigil(room)), el("span", {}, room.name)] : []);
  const notes = room && !dm ? [
    room.is_private && word("private"), room.is_external && word("external"), room.is_archived && word("archived"), !room.has_bot && word("no_bot_here"),
  ].filter(Boolean) : [];
  $("about").textContent = notes.join(" · ");
}

const THEMES = { auto: "dark", dark: "light", light: "auto" };
const THEME_LABELS = { auto: "theme_auto", dark: "theme_dark", light: "theme_light" };

export function theme() {
  return document.documentElement.dataset.theme || "auto";
}

function drawLabels() {
  document.documentElement.lang = state.me.lang;
  const label = (id, name) => { $(id).setAttribute("aria-label", word(name)); $(id).title = word(name); };
  $("who-label").textContent = word("people");
  $("team").textContent = state.team;
  $("role").textContent = [state.me.title, state.me.zone].filter(Boolean).join(" · ");
  $("banner").textContent = state.banner;
  $("banner").hidden = !state.banner;
  $("side").setAttribute("aria-label", word("sidebar"));
  label("menu", "menu");
  label("back", "back");
  label("close", "close_thread");
  $("log").setAttribute("aria-label", word("messages"));
  $("thread-log").setAttribute("aria-label", word("thread"));
  $("thread").setAttribute("aria-label", word("thread"));
  $("find").placeholder = word("find");
  $("find").setAttribute("aria-label", word("find"));
  $("find").setAttribute("aria-keyshortcuts", "Control+K Meta+K");
  fill($("newer"), [icon("arrow"), el("span", {}, word("to_newest"))]);
  const now = theme();
  fill($("theme"), [icon({ auto: "auto", dark: "moon", light: "sun" }[now])]);
  label("theme", THEME_LABELS[now]);
}

function drawTrouble() {
  const line = $("trouble");
  line.hidden = state.online;
  line.textContent = state.online ? "" : word("reconnecting");
}

export function startSide() {
  drawn("labels", drawLabels);
  drawn("head", drawHead);
  drawn("trouble", drawTrouble);
  drawn("side", draw);
  for (const [id, sign] of [["menu", "menu"], ["back", "back"], ["close", "close"]]) $(id).append(icon(sign));
  $("theme").addEventListener("click", () => {
    const next = THEMES[theme()];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      if (next === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", next);
    } catch { /* for this visit only */ }
    redraw("labels");
  });
  $("find").addEventListener("input", () => { query = $("find").value.trim(); redraw("side"); });
  $("find").addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const all = items();
    if (event.key === "ArrowDown" && all.length) { event.preventDefault(); all[0].focus(); }
    else if (event.key === "Enter" && all.length) { event.preventDefault(); go(all[0].dataset.channel); }
    else if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); leave(); }
  });
  $("places").addEventListener("keydown", (event) => {
    const all = items();
    if (event.key === "ArrowUp" && document.activeElement === all[0]) { event.preventDefault(); $("find").focus(); }
    else if (event.key === "Escape" && query) { event.preventDefault(); event.stopPropagation(); leave(); }
    else rove(event, all);
  });
  $("places").addEventListener("click", (event) => {
    const button = event.target.closest("[data-channel]");
    if (button) go(button.dataset.channel);
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k" || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    openSide();
    $("find").focus();
    $("find").select();
  });
}

function clear() {
  query = "";
  $("find").value = "";
  redraw("side");
}

function go(channel) {
  clear();
  openChannel(channel, true);
  closeSide();
  $("text").focus({ preventScroll: true });
}

function leave() {
  clear();
  closeSide();
  $(state.thread ? "thread-text" : "text").focus();
}

