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
    case "alert": return [el("div", { class: "alert", role: "note" }, textObject(b.text))];
    case "task_card": return [el("div", { class: "task" }, icon(b.status === "complete" ? "check" : b.status === "error" ? "warn" : "more"), el("span", {}, b.title || texts(b).join(" ")))];
    case "plan": return [el("div", { class: "header" }, b.title || ""), ...(b.tasks || []).flatMap((t) => block(surface, { ...t, type: "task_card" }))];
    default: return [el("div", { class: "gone" }, texts(b).join(" ") || word("cannot_show", { kind: b.type }))];
  }
}

/** The blocks of a message or a view. */
export function blocks(surface, list, errors) {
  return (Array.isArray(list) ? list : []).flatMap((b) => (b && typeof b === "object" ? block(surface, b, errors) : []));
}
