// The interactive elements of Block Kit. What a person puts into one is kept in `state.entered`, so that a redraw loses
// nothing; using one outside of a form tells the bot at once.

import { el } from "/dom.js";
import { icon } from "/icons.js";
import { state, redraw, revise, word, message, kept, keep } from "/state.js";
import { act } from "/net.js";
import { ask, combobox, newId, openMenu } from "/popup.js";
import { safeUrl } from "/text.js";
import { inWords } from "/format.js";

/** A surface: a message (`channel|ts`) or a view (`view|id`). */
export const surfaceOf = (m) => m.channel + "|" + m.ts;
export const surfaceOfView = (view) => "view|" + view.id;

const viewById = (id) => state.modals.find((v) => v.id === id) || (state.home && state.home.id === id ? state.home : null);

function blocksOf(surface) {
  const [place, id] = surface.split("|");
  const holder = place === "view" ? viewById(id) : message(place, id);
  return (holder && holder.blocks) || [];
}

function definition(surface, blockId, actionId) {
  const block = blocksOf(surface).find((b) => b.block_id === blockId);
  if (!block) return null;
  const inside = [...(block.elements || []).flatMap((e) => [e, ...(e.actions || [])]), ...(block.actions || []), block.accessory, block.element];
  return inside.find((e) => e && e.action_id === actionId) || null;
}

// ---------------------------------------------------------------- what was entered

/** What an element says before anybody has touched it. */
function initial(e) {
  switch (e.type) {
    case "plain_text_input": case "number_input": case "email_text_input": case "url_text_input":
      return e.initial_value === undefined ? null : { value: String(e.initial_value) };
    case "datepicker": return e.initial_date ? { selected_date: e.initial_date } : null;
    case "timepicker": return e.initial_time ? { selected_time: e.initial_time } : null;
    case "datetimepicker": return e.initial_date_time ? { selected_date_time: e.initial_date_time } : null;
    case "checkboxes": return { selected_options: e.initial_options || [] };
    case "users_select": return e.initial_user ? { selected_user: e.initial_user } : null;
    case "conversations_select": return e.initial_conversation ? { selected_conversation: e.initial_conversation } : null;
    case "channels_select": return e.initial_channel ? { selected_channel: e.initial_channel } : null;
    case "multi_static_select": case "multi_external_select": return { selected_options: e.initial_options || [] };
    case "multi_users_select": return { selected_users: e.initial_users || [] };
    default: return e.initial_option ? { selected_option: e.initial_option } : null;
  }
}

const EMPTY = {
  plain_text_input: { value: null }, number_input: { value: null }, email_text_input: { value: null }, url_text_input: { value: null },
  datepicker: { selected_date: null }, timepicker: { selected_time: null }, datetimepicker: { selected_date_time: null },
  static_select: { selected_option: null }, external_select: { selected_option: null }, radio_buttons: { selected_option: null },
  users_select: { selected_user: null }, conversations_select: { selected_conversation: null }, channels_select: { selected_channel: null },
};

function valueOf(surface, block, e) {
  const entered = state.entered.get(surface);
  return (entered && entered[block.block_id] && entered[block.block_id][e.action_id]) || initial(e) || {};
}

function enter(surface, blockId, actionId, value) {
  const all = state.entered.get(surface) || {};
  all[blockId] = { ...all[blockId], [actionId]: value };
  state.entered.set(surface, all);
}

/** The values of a surface as the bot is told: block → action → `{type, …}`. */
export function valuesOf(surface) {
  const values = {};
  for (const block of blocksOf(surface)) {
    for (const e of [...(block.elements || []), block.accessory, block.element]) {
      if (!e || !e.action_id || ["button", "overflow", "image", "feedback_buttons", "icon_button"].includes(e.type)) continue;
      values[block.block_id] = { ...values[block.block_id], [e.action_id]: { type: e.type, ...EMPTY[e.type], ...valueOf(surface, block, e) } };
    }
  }
  return values;
}

// ---------------------------------------------------------------- telling the bot

const textOf = (object) => (object && object.text) || "";

/** Has a surface drawn anew. */
function touch(surface) {
  const [place, id] = surface.split("|");
  if (place === "view") { redraw("modal", "home"); return; }
  const m = message(place, id);
  if (m) revise(m);
  redraw("log", "thread");
}

/** Uses an element: asks first where the bot wants that, then tells it. */
export async function use(surface, blockId, e, chosen) {
  const key = [surface, blockId, e.action_id].join("|");
  if (state.presses.get(key) === "sending") return false;
  const question = e.confirm;
  if (question) {
    const yes = await ask({
      title: textOf(question.title), text: textOf(question.text), yes: textOf(question.confirm), no: textOf(question.deny),
      danger: question.style === "danger",
    });
    if (!yes) return false;
  }
  const [place, id] = surface.split("|");
  state.presses.set(key, "sending");
  touch(surface);
  let warning = true;
  try {
    const press = () => act("act", {
      place: place === "view" ? { view: id } : { channel: place, ts: id },
      block_id: blockId, action_id: e.action_id, chosen: chosen || {}, state: valuesOf(surface),
    });
    const twice = state.twice;
    state.twice = false;
    // The wish of the panel: a hasty thumb.
    [{ warning }] = await Promise.all(twice ? [press(), press()] : [press()]);
  } catch { /* the same to the person: told beside the control */ }
  if (warning) {
    if (state.presses.has(key)) state.presses.set(key, "failed");
    touch(surface);
    return false;
  }
  // The bot has taken it; what comes of it arrives as a change. If none comes, the control is free again.
  const free = () => { if (state.presses.get(key) === "sending") { state.presses.delete(key); touch(surface); } };
  if (place === "view" || e.type !== "button") free();
  else setTimeout(free, 5000);
  return true;
}

// ---------------------------------------------------------------- drawing

const options = (e) => (e.option_groups || []).flatMap((g) => g.options.map((o) => ({ ...o, group: textOf(g.label) })))
  .concat(e.options || []);
const keyOf = (surface, block, e) => surface + "|" + block.block_id + "|" + e.action_id;

/** The attributes by which a control is found again. */
const here = (surface, block, e) => ({
  "data-surface": surface, "data-block": block.block_id, "data-action": e.action_id, "data-kind": e.type,
});

function button(surface, block, e) {
  const busy = state.presses.get(keyOf(surface, block, e)) === "sending";
  const style = ["primary", "danger"].includes(e.style) ? " " + e.style : "";
  return el("button", {
    ...here(surface, block, e), type: "button", class: "press" + style + (busy ? " busy" : ""), "data-do": "press",
    "aria-disabled": busy ? "true" : undefined, "aria-label": e.accessibility_label,
  }, busy ? el("span", { class: "spin", "aria-hidden": "true" }) : [], busy ? word("sending") : textOf(e.text) || e.type);
}

/** A field that chooses from a list; it keeps its own children, since a list may be open. */
function select(surface, block, e, { label, source, current, value, many }) {
  const key = JSON.stringify(e);
  const node = el("span", { class: "select", "data-own": true, "data-key": "select" + key });
  const input = el("input", {
    ...here(surface, block, e), id: label ? undefined : newId("s"), type: "text", autocomplete: "off", spellcheck: "false",
    placeholder: textOf(e.placeholder) || word("choose"), "aria-label": label || textOf(e.placeholder) || word("choose"),
  });
  const tags = el("span", { class: "tags" });
  let picked = current();
  const show = () => {
    input.value = many ? "" : (picked[0] ? picked[0].label : "");
    tags.replaceChildren(...(many ? picked : []).map((p, i) => el("button", { type: "button", class: "tag", "data-index": i, "aria-label": word("remove_it", { name: p.label }) }, p.label, " ", icon("close"))));
  };
  const changed = () => {
    const chosen = value(picked);
    enter(surface, block.block_id, e.action_id, chosen);
    if (block.type !== "input" || block.dispatch_action) use(surface, block.block_id, e, chosen);
  };
  // What is chosen already must not hide the others: only what was typed is searched for.
  let typed = false;
  const list = combobox(input, {
    options: (query) => source(typed ? query : ""),
    chosen: (option) => {
      typed = false;
      if (many) picked = [...picked.filter((p) => p.id !== option.id), option].slice(0, e.max_selected_items || 100);
      else picked = [option];
      show();
      changed();
    },
  });
  tags.addEventListener("click", (event) => {
    const tag = event.target.closest("[data-index]");
    if (!tag) return;
    picked = picked.filter((_, i) => i !== Number(tag.dataset.index));
    show();
    changed();
    input.focus();
  });
  input.addEventListener("focus", () => { input.select(); });
  input.addEventListener("click", () => list.draw());
  input.addEventListener("input", () => { typed = true; list.later(e.type.includes("external") ? 200 : 0); });
  input.addEventListener("blur", () => { typed = false; list.close(); show(); });
  show();
  node.append(tags, input, icon("down"));
  return node;
}

const labelled = (o) => ({ id: o.value, label: textOf(o.text), detail: textOf(o.description), group: o.group, raw: o });
const bare = ({ group, ...option }) => option;
const matches = (query) => (o) => !query || (o.label + " " + (o.detail || "")).toLocaleLowerCase().includes(query.toLocaleLowerCase());

function optionSelect(surface, block, e, label) {
  const many = e.type.startsWith("multi_");
  const known = () => valueOf(surface, block, e);
  const all = options(e).map(labelled);
  const source = e.type.endsWith("external_select")
    ? async (query) => {
      if (query.length < (e.min_query_length ?? 3)) return [];
      const [place, id] = surface.split("|");
      const { options: found } = await act("suggest", {
        place: place === "view" ? { view: id } : { channel: place, ts: id }, block_id: block.block_id, action_id: e.action_id, query,
      });
      return found.flatMap((o) => (o.options ? o.options.map((x) => ({ ...x, group: textOf(o.label) })) : [o])).map(labelled);
    }
    : (query) => all.filter(matches(query));
  return select(surface, block, e, {
    label, many, source,
    current: () => (many ? known().selected_options || [] : [known().selected_option].filter(Boolean)).map(labelled),
    value: (picked) => (many ? { selected_options: picked.map((p) => bare(p.raw)) } : { selected_option: picked[0] ? bare(picked[0].raw) : null }),
  });
}

/** People or conversations, chosen by name. */
function idSelect(surface, block, e, label) {
  const many = e.type.startsWith("multi_");
  const people = e.type.includes("users");
  const field = people ? "selected_user" : e.type.includes("channels") ? "selected_channel" : "selected_conversation";
  const all = people
    ? [...state.people.values()].map((p) => ({ id: p.id, label: p.name, detail: p.title }))
    : [...state.rooms.values()].filter((r) => !r.is_im).map((r) => ({ id: r.id, label: "#" + r.name }));
  const known = () => valueOf(surface, block, e);
  const ids = () => (many ? known()[field + "s"] || [] : [known()[field]].filter(Boolean));
  return select(surface, block, e, {
    label, many,
    source: (query) => all.filter(matches(query)),
    current: () => ids().map((id) => all.find((o) => o.id === id) || { id, label: state.names[id] || word("somebody") }),
    value: (picked) => (many ? { [field + "s"]: picked.map((p) => p.id) } : { [field]: picked[0] ? picked[0].id : null }),
  });
}

function choices(surface, block, e, label) {
  const many = e.type === "checkboxes";
  const known = valueOf(surface, block, e);
  const chosen = (many ? known.selected_options || [] : [known.selected_option].filter(Boolean)).map((o) => o.value);
  const name = surface + "|" + block.block_id + "|" + e.action_id;
  return el("span", { class: "choices", role: many ? "group" : "radiogroup", "aria-label": label || word("choose") },
    (e.options || []).map((o) => el("label", { "data-key": o.value },
      el("input", {
        ...here(surface, block, e), type: many ? "checkbox" : "radio", name: many ? undefined : name, value: o.value,
        checked: chosen.includes(o.value),
      }),
      el("span", {}, textOf(o.text), textOf(o.description) ? el("small", {}, textOf(o.description)) : []))));
}

const PICKERS = {
  datepicker: ["date", "selected_date"], timepicker: ["time", "selected_time"], datetimepicker: ["datetime-local", "selected_date_time"],
};

function picker(surface, block, e, label) {
  const [type, field] = PICKERS[e.type];
  let value = valueOf(surface, block, e)[field];
  if (type === "datetime-local" && value) value = new Date(value * 1000 - new Date().getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  const input = el("input", {
    ...here(surface, block, e), type, value, "aria-label": label || textOf(e.placeholder) || word("choose_date"), class: "field",
  });
  // The browser shows a date in its own way; with the weekday, and in the person's language, nobody mistakes it.
  return type === "date" && value ? el("span", { class: "picker" }, input, el("small", {}, inWords(value))) : el("span", { class: "picker" }, input);
}

function field(surface, block, e, label) {
  const shared = {
    ...here(surface, block, e), class: "field", "aria-label": label || textOf(e.placeholder) || word("enter_text"),
    placeholder: textOf(e.placeholder) || undefined, autofocus: e.focus_on_load || undefined,
  };
  const value = valueOf(surface, block, e).value ?? "";
  if (e.type === "plain_text_input" && e.multiline) {
    return el("textarea", { ...shared, rows: 4, maxlength: e.max_length, "data-own": true }, value);
  }
  const [type, mode] = { number_input: ["text", e.is_decimal_allowed ? "decimal" : "numeric"], email_text_input: ["email", "email"], url_text_input: ["url", "url"] }[e.type] || ["text", undefined];
  return el("input", { ...shared, type, inputmode: mode, maxlength: e.max_length, value, autocomplete: "off" });
}

const felt = () => kept("felt:" + state.me.id, {});

function feedback(surface, block, e) {
  const given = felt()[keyOf(surface, block, e)];
  return el("span", { class: "feedback", role: "group", "aria-label": word("feedback") },
    [["positive_button", "up_thumb"], ["negative_button", "down_thumb"]].map(([side, sign]) => {
      const b = e[side] || {};
      return el("button", {
        ...here(surface, block, e), type: "button", class: "feel", "data-do": "feel", "data-value": b.value ?? "",
        "aria-pressed": String(given === b.value), "aria-label": b.accessibility_label || textOf(b.text), title: textOf(b.text),
      }, icon(sign));
    }));
}

/** One element, and what went wrong with it. */
export function element(surface, block, e, label) {
  if (!e || typeof e !== "object") return [];
  const nodes = [draw(surface, block, e, label)];
  if (state.presses.get(keyOf(surface, block, e)) === "failed") {
    nodes.push(el("p", { class: "failed", role: "alert" }, icon("warn"), word("press_failed")));
  }
  return nodes;
}

function draw(surface, block, e, label) {
  switch (e.type) {
    case "button": case "workflow_button": return button(surface, block, e);
    case "icon_button":
      return el("button", { ...here(surface, block, e), type: "button", class: "feel", "data-do": "press", "aria-label": e.accessibility_label || textOf(e.text), title: textOf(e.text) }, icon(e.icon === "trash" ? "trash" : "more"));
    case "feedback_buttons": return feedback(surface, block, e);
    case "overflow":
      return el("button", { ...here(surface, block, e), type: "button", class: "icon boxed", "data-do": "overflow", "aria-haspopup": "menu", "aria-expanded": "false", "aria-label": word("more_choices") }, icon("more"));
    case "static_select": case "external_select": case "multi_static_select": case "multi_external_select":
      return optionSelect(surface, block, e, label);
    case "users_select": case "multi_users_select": case "conversations_select": case "channels_select":
      return idSelect(surface, block, e, label);
    case "checkboxes": case "radio_buttons": return choices(surface, block, e, label);
    case "datepicker": case "timepicker": case "datetimepicker": return picker(surface, block, e, label);
    case "plain_text_input": case "number_input": case "email_text_input": case "url_text_input": return field(surface, block, e, label);
    default: return null;
  }
}

const KNOWN = new Set([
  "button", "workflow_button", "icon_button", "feedback_buttons", "overflow", "static_select", "external_select", "multi_static_select",
  "multi_external_select", "users_select", "multi_users_select", "conversations_select", "channels_select", "checkboxes", "radio_buttons",
  "plain_text_input", "number_input", "email_text_input", "url_text_input", ...Object.keys(PICKERS),
]);

/** Whether this page can show an element as a control. */
export const canDraw = (e) => Boolean(e) && KNOWN.has(e.type);

// ---------------------------------------------------------------- what people do

const ofControl = (node) => {
  const { surface, block, action } = node.dataset;
  return { surface, blockId: block, e: definition(surface, block, action) };
};
const blockOf = (surface, id) => blocksOf(surface).find((b) => b.block_id === id) || {};

document.addEventListener("click", (event) => {
  const control = event.target.closest("[data-do=press],[data-do=feel],[data-do=overflow]");
  if (!control) return;
  const { surface, blockId, e } = ofControl(control);
  if (!e) return;
  if (control.dataset.do === "press") {
    if (e.url && safeUrl(e.url)) window.open(e.url, "_blank", "noopener,noreferrer");
    use(surface, blockId, e);
  } else if (control.dataset.do === "feel") {
    const key = [surface, blockId, e.action_id].join("|");
    keep("felt:" + state.me.id, Object.fromEntries([...Object.entries(felt()), [key, control.dataset.value]].slice(-300)));
    use(surface, blockId, e, { value: control.dataset.value });
  } else {
    openMenu(control, word("more_choices"), (e.options || []).map((o) => ({
      label: textOf(o.text),
      act: () => {
        if (safeUrl(o.url || "")) window.open(o.url, "_blank", "noopener,noreferrer");
        use(surface, blockId, e, { selected_option: o });
      },
    })));
  }
});

function read(control, e) {
  if (PICKERS[e.type]) {
    const [type, name] = PICKERS[e.type];
    if (type === "datetime-local") return { [name]: control.value ? Math.floor(new Date(control.value).getTime() / 1000) : null };
    return { [name]: control.value || null };
  }
  if (e.type === "checkboxes" || e.type === "radio_buttons") {
    const all = [...control.closest(".choices").querySelectorAll("input:checked")].map((i) => e.options.find((o) => o.value === i.value));
    return e.type === "checkboxes" ? { selected_options: all } : { selected_option: all[0] || null };
  }
  // Numbers are typed in either width in Japanese.
  const text = e.type === "number_input" ? control.value.normalize("NFKC").replace(/[,\s]/g, "") : control.value;
  return { value: text === "" ? null : text };
}

function changed(event) {
  const control = event.target.closest("[data-surface]");
  if (!control || control.closest(".select") || control.tagName === "BUTTON") return;
  const { surface, blockId, e } = ofControl(control);
  if (!e) return;
  const value = read(control, e);
  enter(surface, blockId, e.action_id, value);
  if (e.type === "datepicker") touch(surface);
  const block = blockOf(surface, blockId);
  const writes = control.tagName === "TEXTAREA" || control.classList.contains("field") && !PICKERS[e.type];
  if (event.type === "change" && !writes && (block.type !== "input" || block.dispatch_action)) use(surface, blockId, e, value);
}

document.addEventListener("input", changed);
document.addEventListener("change", changed);
