// Modals: what the bot opened for the person, one on top of the other. Values are the person's until they submit.

import { $, el, fill, say } from "/dom.js";
import { icon } from "/icons.js";
import { state, drawn, redraw, word } from "/state.js";
import { act } from "/net.js";
import { blocks, describeInputs } from "/blocks.js";
import { surfaceOfView, valuesOf } from "/elements.js";
import { closePopup } from "/popup.js";

const textOf = (object) => (object && object.text) || "";
const top = () => state.modals[state.modals.length - 1];

/** What is wrong with which input of which view, and whether a submission is on its way. */
const errors = new Map();
let busy = "";
let trouble = "";
let opener = null;
let shown = "";

function close() {
  const dialog = $("modal");
  shown = "";
  if (!dialog.open) return;
  closePopup();
  dialog.close();
  dialog.replaceChildren();
  if (opener && opener.isConnected) opener.focus();
  else $("text").focus();
  opener = null;
}

function draw() {
  const view = top();
  for (const id of errors.keys()) if (!state.modals.some((v) => v.id === id)) errors.delete(id);
  if (!view) { close(); return; }
  const dialog = $("modal");
  const moved = shown !== view.id;
  const wrong = errors.get(view.id);
  const nested = state.modals.length > 1;
  if (moved) {
    closePopup();
    trouble = "";
    if (busy !== view.id) busy = "";
  }
  const form = el("form", { class: "view", "data-key": view.id, novalidate: true },
    el("header", {},
      nested ? el("button", { type: "button", class: "icon", "data-view": "dismiss", "aria-label": word("back") }, icon("back")) : [],
      el("h2", { id: "modal-title" }, textOf(view.title)),
      nested ? [] : el("button", { type: "button", class: "icon", "data-view": "dismiss", "aria-label": word("close") }, icon("close"))),
    el("div", { class: "view-body", tabindex: -1 }, blocks(surfaceOfView(view), view.blocks, wrong)),
    el("footer", {},
      trouble ? el("p", { class: "failed", role: "alert" }, icon("warn"), trouble) : [],
      el("button", { type: "button", class: "press", "data-view": "dismiss" }, textOf(view.close) || word("cancel")),
      view.submit || (view.blocks || []).some((b) => b.type === "input")
        ? el("button", { type: "submit", class: busy ? "press primary busy" : "press primary", "aria-disabled": busy ? "true" : undefined },
          busy ? el("span", { class: "spin", "aria-hidden": "true" }) : [], busy ? word("sending") : textOf(view.submit) || word("ok"))
        : []));
  fill(dialog, [form]);
  describeInputs(dialog);
  dialog.setAttribute("aria-labelledby", "modal-title");
  if (!dialog.open) {
    opener = document.activeElement;
    dialog.showModal();
  }
  if (moved) {
    shown = view.id;
    const first = dialog.querySelector("[autofocus]") || dialog.querySelector(".view-body :is(input:not([type=hidden]),textarea,button)") || dialog.querySelector("[type=submit]");
    if (first) first.focus();
  }
}

/** The bot has the last word on whether it closes; the page takes what it shows from the workspace. */
async function submit() {
  const view = top();
  if (!view || busy) return;
  busy = view.id;
  trouble = "";
  redraw("modal");
  try {
    const outcome = await act("submit", { view: view.id, values: valuesOf(surfaceOfView(view)) });
    errors.delete(view.id);
    if (Object.keys(outcome.errors || {}).length) {
      errors.set(view.id, outcome.errors);
      say(Object.values(outcome.errors).join(" "), true);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const first = $("modal").querySelector(".wrong :is(input,textarea,button)");
        if (!first) return;
        first.focus();
        first.closest(".wrong").scrollIntoView({ block: "center" });
      }));
    } else if (outcome.warning) {
      trouble = word("modal_failed");
    } else if (outcome.closed) {
      state.modals = state.modals.filter((v) => v.id !== view.id);
      state.entered.delete(surfaceOfView(view));
    }
  } catch (failed) {
    trouble = word(failed.kind === "offline" ? "not_done_offline" : "modal_failed");
  }
  busy = "";
  redraw("modal");
}

function dismiss() {
  const view = top();
  if (!view) return;
  state.modals = state.modals.filter((v) => v !== view);
  state.entered.delete(surfaceOfView(view));
  // The bot hears of it if it asked to; that it could not be told changes nothing for the person.
  act("dismiss", { view: view.id }).catch(() => undefined);
  redraw("modal");
}

export function startModal() {
  drawn("modal", draw);
  const dialog = $("modal");
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    dismiss();
  });
  dialog.addEventListener("click", (event) => { if (event.target.closest("[data-view=dismiss]")) dismiss(); });
  dialog.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    // Enter that confirms a conversion must not submit, and in a field of several lines it makes a line.
    if (event.target.tagName === "TEXTAREA" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
  });
  // What is put right is no longer wrong.
  dialog.addEventListener("input", (event) => {
    const view = top();
    const block = event.target.closest("[data-block]");
    const wrong = view && errors.get(view.id);
    if (!wrong || !block || !wrong[block.dataset.block]) return;
    delete wrong[block.dataset.block];
    redraw("modal");
  });
}
