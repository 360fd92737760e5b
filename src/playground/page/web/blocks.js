// Block Kit, drawn. A block that is unknown is shown by the words in it.

import { el } from "/dom.js";
import { icon } from "/icons.js";
import { word } from "/state.js";
import { canDraw, element } from "/elements.js";
import { markdown, richText, safeUrl, table, textObject, texts } from "/text.js";

const textOf = (object) => (object && object.text) || "";

/** An image of this workspace; of others only the description and a link, since the page loads nothing from outside. */
export function image(url, alt, title) {
  const own = /^(?:https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+)?(\/files\/[^?#]+)/.exec(url || "");
  const caption = title ? el("figcaption", {}, title) : [];
  if (own) {
    return el("figure", { class: "picture" }, caption,
      el("a", { href: own[1], target: "_blank", rel: "noopener noreferrer" }, el("img", { src: own[1], alt: alt || "", loading: "lazy" })));
  }
  const href = safeUrl(url || "");
  const text = word("image", { alt: alt || "" });
  return el("figure", { class: "picture" }, caption, href ? el("a", { href, target: "_blank", rel: "noopener noreferrer" }, text) : el("span", { class: "gone" }, text));
}

function other(surface, block, e) {
  if (e.type === "image") return [image(e.image_url || (e.slack_file || {}).url, e.alt_text)];
  if (canDraw(e)) return element(surface, block, e);
  return [el("span", { class: "gone" }, texts(e).join(" ") || word("cannot_show", { kind: e.type }))];
}

function small(e) {
  if (e.type !== "image") return el("div", {}, textObject(e));
  const picture = image(e.image_url || (e.slack_file || {}).url, e.alt_text);
  picture.classList.add("tiny");
  return picture;
}

/** An input of a modal or of Home, with its label, hint and what is wrong with it. */
function input(surface, block, errors) {
  const error = errors && errors[block.block_id];
  const label = textOf(block.label);
  const id = "i-" + surface + "-" + block.block_id;
  const nodes = element(surface, block, block.element || {}, label);
  return el("div", { class: error ? "input wrong" : "input", "data-key": "input" + block.block_id, "data-required": !block.optional },
    el("p", { class: "label", "aria-hidden": "true" }, label, block.optional ? el("span", { class: "mark" }, " " + word("optional")) : []),
    nodes,
    error ? el("p", { class: "failed", id: id + "-error" }, icon("warn"), error) : [],
    textOf(block.hint) ? el("p", { class: "hint", id: id + "-hint" }, textOf(block.hint)) : []);
}

/** Tells the controls of a form what stands beside them: fields that look after themselves are not drawn anew. */
export function describeInputs(form) {
  for (const box of form.querySelectorAll(".input")) {
    const control = box.querySelector("input:not([type=checkbox],[type=radio]),textarea,.choices");
    if (!control) continue;
    const told = [...box.querySelectorAll(":scope > :is(.failed, .hint)[id]")].map((n) => n.id).join(" ");
    const set = (name, value) => (value ? control.setAttribute(name, value) : control.removeAttribute(name));
    set("aria-describedby", told);
    set("aria-invalid", box.classList.contains("wrong") ? "true" : "");
    set("aria-required", box.hasAttribute("data-required") && !control.matches(".choices") ? "true" : "");
  }
}

function cells(row) {
  return row.map((cell) => {
    if (!cell || typeof cell !== "object") return [String(cell ?? "")];
    if (cell.type === "rich_text") return richText(cell);
    return [String(cell.text ?? cell.value ?? "")];
  });
}

/** A card, alone or in a row of them. */
function card(surface, b) {
  const words = (key, name) => (b[key] ? el("div", { class: name }, typeof b[key] === "string" ? b[key] : textObject(b[key])) : []);
  const picture = b.hero_image || b.image;
  return el("div", { class: "small-card" },
    picture ? image(picture.image_url, picture.alt_text) : [],
    words("title", "header"), words("subtitle", "dim"), words("body", ""), words("subtext", "dim"),
    b.actions && b.actions.length ? el("div", { class: "actions" }, b.actions.flatMap((e) => other(surface, b, e))) : []);
}

/** A chart as its figures: bars where there is one row of them, a table where there are several. */
function chart(b) {
  const { segments, series, axis_config: axis } = b.chart || {};
  const title = el("div", { class: "header", role: "heading", "aria-level": 3 }, b.title || "");
  if (Array.isArray(segments)) {
    const most = Math.max(...segments.map((s) => s.value || 0), 1);
    return [title, el("dl", { class: "bars" }, segments.flatMap((s) => [
      el("dt", {}, s.label || ""), el("dd", {}, el("meter", { min: 0, max: most, value: s.value || 0, "aria-hidden": "true" }), String(s.value ?? "")),
    ]))];
  }
  const lines = Array.isArray(series) ? series : [];
  const points = (s) => s.data || s.values || [];
  const categories = (axis && axis.categories) || points(lines[0] || {}).map((p, i) => (p && p.label) || String(i + 1));
  const value = (p) => String((p && typeof p === "object" ? p.value : p) ?? "");
  const rows = categories.map((c, i) => [[String(c)], ...lines.map((s) => [value(points(s)[i])])]);
  return [title, table([[[]], ...rows].map((row, i) => (i ? row : [[], ...lines.map((s) => [s.name || ""])])), [{}, ...lines.map(() => ({ align: "right" }))])];
}

function block(surface, b, errors) {
  switch (b.type) {
    case "header": return [el("div", { class: "header", role: "heading", "aria-level": 3 }, textOf(b.text))];
    case "section": {
      const inside = el("div", {}, textObject(b.text));
      if (b.fields) inside.append(el("div", { class: "fields" }, b.fields.map((f) => el("div", {}, textObject(f)))));
      return [el("div", { class: "section" }, inside, b.accessory ? el("div", { class: "beside" }, other(surface, b, b.accessory)) : [])];
    }
    case "context": return [el("div", { class: "context" }, (b.elements || []).map(small))];
    case "actions": case "context_actions":
      return [el("div", { class: b.type === "actions" ? "actions" : "actions quiet" }, (b.elements || []).flatMap((e) => other(surface, b, e)))];
    case "divider": return [el("hr")];
    case "rich_text": return richText(b);
    case "markdown": return markdown(b.text || "");
    case "input": return [input(surface, b, errors)];
    case "image": return [image(b.image_url || (b.slack_file || {}).url, b.alt_text, textOf(b.title))];
    case "table": return [table((b.rows || []).map((row) => cells(row || [])), b.column_settings || [])];
    case "alert": return [el("div", { class: "alert", role: "note" }, typeof b.text === "string" ? b.text : textObject(b.text))];
    case "task_card": return [el("div", { class: "task" }, icon(b.status === "complete" ? "check" : b.status === "error" ? "warn" : "more"), el("span", {}, b.title || texts(b).join(" ")))];
    case "plan": return [el("div", { class: "header" }, b.title || ""), ...(b.tasks || []).flatMap((t) => block(surface, { ...t, type: "task_card" }))];
    case "data_table":
      return [el("div", { class: "dim" }, textOf(b.caption) || b.caption || ""), table((b.rows || []).map((row) => cells(row || [])), b.column_settings || [])];
    case "data_visualization": return chart(b);
    case "card": return [card(surface, b)];
    case "carousel": return [el("div", { class: "carousel", tabindex: 0, role: "group", "aria-label": word("cards") }, (b.elements || []).map((c) => card(surface, { ...c, block_id: b.block_id })))];
    case "container":
      return [el("div", { class: "small-card" }, b.title ? el("div", { class: "header" }, typeof b.title === "string" ? b.title : textOf(b.title)) : [],
        blocks(surface, b.child_blocks || b.blocks))];
    default: return [el("div", { class: "gone" }, texts(b).join(" ") || word("cannot_show", { kind: b.type }))];
  }
}

/** The blocks of a message or a view. */
export function blocks(surface, list, errors) {
  return (Array.isArray(list) ? list : []).flatMap((b) => (b && typeof b === "object" ? block(surface, b, errors) : []));
}
