// What opens beside a control: menus, lists to choose from, the picker of reactions, questions.

import { $, el, rove } from "/dom.js";
import { icon } from "/icons.js";
import { emoji, OFFERED } from "/emoji.js";
import { word } from "/state.js";

let open = null;
let serial = 0;
export const newId = (prefix) => prefix + (serial += 1);

/** Closes what is open; with `back`, focus returns to the control it belongs to. */
export function closePopup(back) {
  if (!open) return;
  const { node, anchor, closed } = open;
  open = null;
  node.remove();
  anchor.removeAttribute("data-open");
  if (anchor.hasAttribute("aria-expanded")) anchor.setAttribute("aria-expanded", "false");
  if (back && anchor.isConnected) anchor.focus();
  if (closed) closed();
}

const popupOf = (anchor) => (open && open.anchor === anchor ? open.node : null);

function position() {
  const { node, anchor } = open;
  // A control that shows only under a pointer has no place of its own when the keyboard opens it.
  const at = (anchor.offsetWidth ? anchor : anchor.closest(".message") || anchor).getBoundingClientRect();
  const [width, height] = [node.offsetWidth, node.offsetHeight];
  const below = at.bottom + 4 + height <= window.innerHeight || at.top < height + 4;
  const left = node.dataset.align === "end" ? at.right - width : at.left;
  node.style.top = Math.max(8, below ? Math.min(at.bottom + 4, window.innerHeight - height - 8) : at.top - height - 4) + "px";
  node.style.left = Math.max(8, Math.min(left, window.innerWidth - width - 8)) + "px";
}

/** Shows `node` beside `anchor`, above everything, until a click elsewhere or Esc. */
function openPopup(anchor, node, closed) {
  closePopup();
  node.classList.add("popup");
  node.setAttribute("popover", "manual");
  // Within a modal everything outside of it is inert.
  (anchor.closest("dialog") || document.body).append(node);
  node.showPopover();
  anchor.setAttribute("data-open", "");
  if (anchor.hasAttribute("aria-expanded")) anchor.setAttribute("aria-expanded", "true");
  open = { node, anchor, closed };
  position();
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.node.contains(event.target) && !open.anchor.contains(event.target)) closePopup();
}, true);
document.addEventListener("keydown", (event) => {
  if (!open || event.key !== "Escape" || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  closePopup(true);
}, true);
window.addEventListener("resize", () => closePopup());

/** A menu of `{label, sign, danger, act}`. */
export function openMenu(anchor, label, items) {
  if (popupOf(anchor)) { closePopup(true); return; }
  const menu = el("div", { role: "menu", class: "menu", "aria-label": label, "data-align": "end" },
    items.map((item, i) => el("button", {
      type: "button", role: "menuitem", tabindex: i ? -1 : 0, class: item.danger ? "danger" : undefined, "data-index": i,
    }, item.sign ? icon(item.sign) : [], el("span", {}, item.label))));
  menu.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-index]");
    if (!chosen) return;
    closePopup(true);
    items[Number(chosen.dataset.index)].act();
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Tab") closePopup(true);
    else rove(event, [...menu.children]);
  });
  openPopup(anchor, menu);
  menu.firstElementChild.focus();
}

/** Asks for a reaction. */
export function pickReaction(anchor, chosen) {
  if (popupOf(anchor)) { closePopup(true); return; }
  const grid = el("div", { class: "reactions-grid", role: "group", "aria-label": word("add_reaction"), "data-align": "end" },
    OFFERED.map((name, i) => el("button", { type: "button", class: "emoji", "data-name": name, "aria-label": name.replaceAll("_", " "), title: ":" + name + ":", tabindex: i ? -1 : 0 }, emoji(name))));
  grid.addEventListener("click", (event) => {
    const button = event.target.closest("[data-name]");
    if (!button) return;
    closePopup(true);
    chosen(button.dataset.name);
  });
  grid.addEventListener("keydown", (event) => {
    const items = [...grid.children];
    const at = items.indexOf(document.activeElement);
    const down = { ArrowDown: 8, ArrowUp: -8 }[event.key];
    if (down && items[at + down]) { event.preventDefault(); items[at + down].focus(); }
    else if (event.key === "Tab") closePopup(true);
    else rove(event, items, { horizontal: true });
  });
  openPopup(anchor, grid);
  grid.firstElementChild.focus();
}

/** A question with two answers; resolves to whether the person said yes. */
export function ask({ title, text, yes, no, danger }) {
  const dialog = $("ask");
  const before = document.activeElement;
  return new Promise((resolve) => {
    const heading = newId("ask");
    const [deny, confirm] = [
      el("button", { type: "button", class: "press" }, no || word("cancel")),
      el("button", { type: "button", class: danger ? "press danger-full" : "press primary" }, yes || word("ok")),
    ];
    dialog.setAttribute("aria-labelledby", heading);
    dialog.replaceChildren(el("h2", { id: heading }, title), el("div", { class: "ask-text" }, text), el("div", { class: "ask-buttons" }, deny, confirm));
    const end = (answer) => {
      dialog.onclose = null;
      dialog.close();
      dialog.replaceChildren();
      if (before && before.isConnected) before.focus();
      resolve(answer);
    };
    deny.addEventListener("click", () => end(false));
    confirm.addEventListener("click", () => end(true));
    dialog.onclose = () => end(false);
    dialog.showModal();
    (danger ? deny : confirm).focus();
  });
}

/**
 * Makes `input` (a text field) choose from a list. `options(query)` gives, or promises, `[{label, detail, group, value}]`;
 * `chosen(option)` is told. The list is drawn beside the field and read out by the field's own attributes.
 */
export function combobox(input, { options, chosen, empty }) {
  const list = el("div", { role: "listbox", class: "list", id: newId("list"), "aria-label": input.getAttribute("aria-label") || undefined });
  let shown = [];
  let at = -1;
  let asked = 0;
  if (empty !== "hide") {
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-expanded", "false");
  }
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  const mark = (to) => {
    at = shown.length ? (to + shown.length) % shown.length : -1;
    const nodes = list.querySelectorAll("[role=option]");
    nodes.forEach((node, i) => node.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", nodes[at].id);
      nodes[at].scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  };
  const draw = async () => {
    const turn = (asked += 1);
    let found;
    try {
      found = await options(input.value.trim());
    } catch {
      found = null;
    }
    if (turn !== asked) return;
    if (document.activeElement !== input) return;
    shown = found || [];
    let group = "";
    list.replaceChildren(...shown.flatMap((option, i) => {
      const head = option.group && option.group !== group ? [el("div", { class: "group", role: "presentation" }, (group = option.group))] : [];
      return [...head, el("div", { role: "option", id: list.id + "-" + i, "data-index": i, "aria-selected": "false" },
        el("span", {}, option.label), option.detail ? el("small", {}, option.detail) : [])];
    }));
    if (!shown.length) list.append(el("p", { class: "none" }, word(found ? "nothing_found" : "cannot_load")));
    if (!shown.length && empty === "hide") { closePopup(); return; }
    if (popupOf(input) !== list) openPopup(input, list, () => { input.removeAttribute("aria-activedescendant"); asked += 1; });
    else position();
    list.style.minWidth = input.offsetWidth + "px";
    mark(0);
  };
  const take = (i) => {
    const option = shown[i];
    // What is still being looked for comes too late.
    asked += 1;
    closePopup();
    if (option) chosen(option);
  };
  // The list must not take the focus from the field.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-index]");
    if (option) take(Number(option.dataset.index));
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const isOpen = popupOf(input) === list;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!isOpen && empty === "hide") return;
      event.preventDefault();
      if (isOpen) mark(at + (event.key === "ArrowDown" ? 1 : -1));
      else draw();
    } else if (isOpen && at >= 0 && (event.key === "Enter" || (event.key === "Tab" && empty === "hide"))) {
      event.preventDefault();
      event.stopImmediatePropagation();
      take(at);
    }
  });
  const later = (pause) => { const turn = (asked += 1); setTimeout(() => { if (turn === asked) draw(); }, pause); };
  return { draw, later, close: () => { asked += 1; if (popupOf(input) === list) closePopup(); } };
}
