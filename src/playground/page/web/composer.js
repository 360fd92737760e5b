// Writing: the two composers, what is on its way, commands, files, examples.

import { $, el, fill, say } from "/dom.js";
import { icon } from "/icons.js";
import { state, drawn, redraw, word, here, placeOf, isDm, kept, keep, rootOf } from "/state.js";
import { act, send, keepPending, read } from "/net.js";
import { combobox } from "/popup.js";
import { edit } from "/actions.js";
import { onMove, openThread } from "/place.js";

/** What is still unsent after this long waits for the person rather than for the connection. */
const STALE_MS = 10 * 60 * 1000;

// ---------------------------------------------------------------- sending

let serial = 0;
const newKey = () => Date.now().toString(36) + "-" + (serial += 1) + "-" + Math.random().toString(36).slice(2, 8);

const reachesBot = (p) => isDm(p.channel) || p.text.includes("@" + state.bot.handle);

async function deliver(p) {
  if (p.busy) return;
  p.busy = true;
  p.failed = "";
  redraw("log", "thread");
  const who = state.me.id;
  try {
    if (p.command) {
      const [, name, text] = /^(\/\S+)\s*([\s\S]*)$/.exec(p.text);
      const { warning } = await act("command", { channel: p.channel, name, text });
      if (warning) throw Object.assign(new Error("warning"), { kind: "command" });
      forget(p);
      return;
    }
    const { ts } = await act("say", { channel: p.channel, thread_ts: p.thread || undefined, text: p.text, key: p.key });
    p.busy = false;
    if (state.me.id !== who) return;
    const root = p.thread || ts;
    if (reachesBot(p)) waitFor(placeOf(p.channel, root), ts);
    // The message itself comes with the changes; until then the pending one stands for it.
    p.ts = ts;
    if (here() && here().roots.concat(...[...here().threads.values()].map((t) => t.list)).some((m) => m.ts === ts)) forget(p);
    else setTimeout(() => forget(p), 3000);
    keepPending();
    if (!p.thread && reachesBot(p) && state.channel === p.channel && !state.thread) openThread(ts, true, true);
  } catch (failed) {
    p.busy = false;
    if (state.me.id !== who) return;
    p.failed = failed.kind || "offline";
    keepPending();
    say(word(p.failed === "offline" ? "not_sent_offline" : "not_sent"), true);
  }
  p.busy = false;
  redraw("log", "thread", "side");
}

function forget(p) {
  state.pending = state.pending.filter((other) => other !== p);
  keepPending();
  redraw("log", "thread");
}

function resend(key) {
  const p = state.pending.find((other) => other.key === key);
  if (p) deliver(p);
}

function discard(key) {
  const p = state.pending.find((other) => other.key === key);
  if (!p) return;
  forget(p);
  const [form, area] = p.thread && p.thread === state.thread ? ["thread-composer", "thread-text"] : ["composer", "text"];
  if (!$(area).value) {
    $(area).value = p.text;
    $(area).dispatchEvent(new Event("input"));
  }
  $(form).querySelector("textarea").focus();
}

/** What could not be handed over while the connection was lost goes now. */
export function resendAll() {
  for (const p of state.pending) {
    if (p.ts || p.busy) continue;
    if (Date.now() - p.at < STALE_MS && (!p.failed || p.failed === "offline")) deliver(p);
    else p.failed ||= "offline";
  }
  redraw("log", "thread");
}

function put(channel, thread, text) {
  const command = /^\/[a-z]/.test(text);
  const p = { key: newKey(), channel, thread, text: text.startsWith("//") ? text.slice(1) : text, at: Date.now(), command };
  state.pending.push(p);
  // Who writes has seen what was new.
  delete state.lines[thread ? placeOf(channel, thread) : channel];
  keepPending();
  deliver(p);
}

// ---------------------------------------------------------------- waiting for the bot

/** Says after a while that nothing has come yet, and whether the bot can be reached at all. */
function waitFor(place, ts) {
  state.waits.set(place, { since: Date.now(), ts, told: "" });
}

function answered(place, ts) {
  if (state.statuses.has(place)) return true;
  const [channel, root] = place.split("|");
  const room = state.rooms.get(channel);
  if (!room) return true;
  const later = (m) => m.is_bot && m.ts > ts && rootOf(m) === root;
  const thread = room.threads.get(root);
  return (thread && thread.list.some(later)) || room.privates.some(later)
    || room.roots.some((m) => m.ts === root && m.thread && m.thread.recent.some((reply) => reply > ts));
}

async function watch() {
  for (const [place, wait] of [...state.waits]) {
    const waited = Date.now() - wait.since;
    let told = "";
    if (answered(place, wait.ts) || waited > STALE_MS) state.waits.delete(place);
    else if (waited > 2500) {
      let reached = true;
      const channel = place.split("|")[0];
      try {
        reached = (await read("/page/delivered", { as: state.me.id, channel, ts: wait.ts })).taken !== false;
      } catch { /* the page itself is offline and says so */ }
      told = reached ? (waited > 12000 ? "bot_slow" : "") : "bot_away";
    }
    if (told !== wait.told) { wait.told = told; redraw("log", "thread"); }
    else if (!state.waits.has(place)) redraw("log", "thread");
  }
}

// ---------------------------------------------------------------- the field

function grown(area) {
  area.style.height = "auto";
  area.style.height = Math.min(area.scrollHeight, Math.max(120, window.innerHeight / 3)) + "px";
  const button = area.form && area.form.querySelector("[type=submit]");
  if (button) button.classList.toggle("ready", Boolean(area.value.trim()));
}

const draftKey = (thread) => (thread ? placeOf(state.channel, thread) : state.channel);
function drafts(change) {
  const key = "drafts:" + state.me.id;
  const all = kept(key, {});
  if (change) { change(all); keep(key, all); }
  return all;
}

/** Puts the draft of where the person now is into a field. */
function restoreDraft(areaId, thread) {
  const area = $(areaId);
  area.value = drafts()[draftKey(thread)] || "";
  grown(area);
}

function people(query) {
  const all = [{ handle: state.bot.handle, name: state.bot.name }, ...state.people.values()];
  const wanted = query.toLocaleLowerCase();
  return all.filter((p) => (p.handle + " " + p.name).toLocaleLowerCase().includes(wanted)).slice(0, 8)
    .map((p) => ({ label: p.name, detail: "@" + p.handle, value: p.handle }));
}

function fields(form, id, submitId, mentionId) {
  form.append(
    el("p", { class: "error", role: "alert", hidden: true }),
    el("textarea", { id, rows: 1, enterkeyhint: "send", autocapitalize: "sentences" }),
    el("div", { class: "tools-row" },
      el("button", { type: "button", class: "icon", "data-tool": "file" }, icon("plus")),
      el("input", { type: "file", hidden: true, tabindex: -1 }),
      el("button", { type: "button", class: "icon", id: mentionId }, icon("at")),
      el("span", { class: "hint keys" }),
      el("button", { id: submitId, type: "submit", class: "send" }, icon("send"), el("span", {}))));
}

function composer(form, id, submitId, mentionId, thread) {
  fields(form, id, submitId, mentionId);
  const area = $(id);
  const error = form.querySelector(".error");
  const file = form.querySelector("input[type=file]");
  const tell = (text) => { error.textContent = text; error.hidden = !text; };
  const submit = () => {
    const text = area.value.trim();
    if (!text || !state.me) return;
    tell("");
    area.value = "";
    grown(area);
    drafts((all) => delete all[draftKey(thread())]);
    state.offered = false;
    put(state.channel, thread(), text);
    $(thread() ? "thread-scroll" : "scroll").scrollTop = 1e9;
    redraw("examples");
  };
  // `@…` before the cursor asks whom to name.
  const naming = () => /(?:^|[^A-Za-z0-9])@([^\s@]{0,20})$/.exec(area.value.slice(0, area.selectionStart));
  const names = combobox(area, {
    options: () => { const found = naming(); return found ? people(found[1]) : []; },
    chosen: (option) => {
      const found = naming();
      if (!found) return;
      area.setRangeText("@" + option.value + " ", area.selectionStart - found[1].length - 1, area.selectionStart, "end");
      grown(area);
    },
    empty: "hide",
  });
  area.addEventListener("input", (event) => {
    grown(area);
    drafts((all) => { if (area.value) all[draftKey(thread())] = area.value; else delete all[draftKey(thread())]; });
    if (event.isComposing) return;
    if (naming()) names.draw();
    else names.close();
  });
  area.addEventListener("blur", () => names.close());
  area.addEventListener("keydown", (event) => {
    // Enter that confirms a Japanese conversion belongs to the input method: Safari tells it by 229 only.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && !area.value && here()) {
      const list = thread() ? (here().threads.get(thread()) || { list: [] }).list : here().roots;
      const own = list.filter((m) => m.user === state.me.id && !m.tombstone).pop();
      if (own) { event.preventDefault(); edit(own); }
    }
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); area.focus(); });
  $(mentionId).addEventListener("click", () => {
    area.setRangeText("@" + state.bot.handle + " ", area.selectionStart, area.selectionEnd, "end");
    grown(area);
    area.focus();
  });
  const upload = async (chosen) => {
    tell("");
    const note = el("p", { class: "uploading", role: "status" }, word("uploading", { name: chosen.name }));
    form.prepend(note);
    try {
      await send("upload", { channel: state.channel, ...(thread() ? { thread_ts: thread() } : {}), name: chosen.name }, chosen);
    } catch (failed) {
      tell(word(failed.kind === "offline" ? "not_done_offline" : "file_refused", { name: chosen.name }));
    } finally {
      note.remove();
    }
  };
  form.querySelector("[data-tool=file]").addEventListener("click", () => file.click());
  file.addEventListener("change", () => { for (const f of file.files) upload(f); file.value = ""; area.focus(); });
  area.addEventListener("paste", (event) => { for (const f of event.clipboardData.files) { event.preventDefault(); upload(f); } });
  const pane = form.closest("main,aside");
  pane.addEventListener("dragover", (event) => { if ([...event.dataTransfer.types].includes("Files")) event.preventDefault(); });
  pane.addEventListener("drop", (event) => { for (const f of event.dataTransfer.files) { event.preventDefault(); upload(f); } });
}

// ---------------------------------------------------------------- examples

function drawExamples() {
  const room = here();
  const box = $("examples");
  const dm = isDm(state.channel);
  const prompts = dm && Array.isArray(state.prompts) ? state.prompts : [];
  const offers = [...prompts.map((p) => [p.title, p.message]), ...state.examples.map((e) => [e, e])];
  box.hidden = !offers.length || !room || (!dm && !room.has_bot) || room.is_archived;
  if (box.hidden) return;
  const open = state.offered ?? room.roots.length === 0;
  fill(box, [
    el("button", { type: "button", class: "examples-title", id: "examples-title", "aria-expanded": String(open), "aria-controls": "examples-list" }, icon("leaf"), word("examples"), icon("down")),
    el("ul", { id: "examples-list", hidden: !open }, offers.map(([title, text], i) =>
      el("li", {}, el("button", { type: "button", class: "chip", "data-example": text, "data-key": i + text }, title)))),
  ]);
}

function drawComposers() {
  const room = here();
  if (!room) return;
  const dm = isDm(state.channel);
  const read_only = Boolean(room.is_archived);
  const texts = { text: dm ? word("write_dm") : word("write_to", { name: room.name }), "thread-text": word("write_reply") };
  for (const [id, placeholder] of Object.entries(texts)) {
    const area = $(id);
    area.placeholder = read_only ? word("archived") : placeholder;
    area.disabled = read_only;
    area.setAttribute("aria-label", placeholder);
    area.form.querySelector("[data-tool=file]").setAttribute("aria-label", word("attach"));
    area.form.querySelector("[data-tool=file]").title = word("attach");
    area.form.querySelector("input[type=file]").setAttribute("aria-label", word("attach"));
    area.form.querySelector(".keys").textContent = word("enter_sends");
    area.form.querySelector(".send span").textContent = word("send");
  }
  for (const id of ["mention", "thread-mention"]) {
    $(id).hidden = dm;
    $(id).setAttribute("aria-label", word("mention_bot"));
    $(id).title = word("mention_bot");
  }
}

export function startComposers() {
  composer($("composer"), "text", "send", "mention", () => "");
  composer($("thread-composer"), "thread-text", "thread-send", "thread-mention", () => state.thread);
  onMove((what) => {
    if (what === "channel") restoreDraft("text", "");
    if (what === "thread") restoreDraft("thread-text", state.thread);
  });
  document.addEventListener("click", (event) => {
    const control = event.target.closest("[data-do=retry],[data-do=discard]");
    if (control) (control.dataset.do === "retry" ? resend : discard)(control.closest(".message").dataset.pending);
  });
  drawn("composer", drawComposers);
  drawn("examples", drawExamples);
  $("examples").addEventListener("click", (event) => {
    if (event.target.closest("#examples-title")) {
      state.offered = $("examples-list").hidden;
      redraw("examples");
      return;
    }
    const example = event.target.closest("[data-example]");
    if (!example) return;
    const text = example.dataset.example;
    $("text").value = isDm(state.channel) ? text : "@" + state.bot.handle + " " + text;
    grown($("text"));
    $("text").focus();
  });
  document.addEventListener("online-again", resendAll);
  setInterval(watch, 1000);
}

