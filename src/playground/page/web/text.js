// Text that came from people and models: Slack's mrkdwn, Markdown and rich text as nodes. Each reader walks its text
// once or a few times, whatever the text is: it may be 40,000 characters that somebody chose.

import { el } from "/dom.js";
import { emoji } from "/emoji.js";
import { state, word, nameOf, channelNameOf, groupNameOf } from "/state.js";
import { dateToken, clock } from "/format.js";

const unescape = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
const plain = (text) => text;

// ---------------------------------------------------------------- links and names

export const safeUrl = (url) => (/^(https?:\/\/|mailto:|tel:)/i.test(url) ? url : null);

function host(url) {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

/** A link. One whose words look like another address says where it really goes. */
export function link(url, label) {
  const href = safeUrl(url);
  if (!href) return el("span", {}, label || url);
  const node = el("a", { href, target: "_blank", rel: "noopener noreferrer", title: word("link_hint", { url }) }, label || url);
  const looks = label && /[\w-]+\.[a-z]{2,}/i.exec(label);
  const real = host(href);
  if (!looks || !real || label.includes(real)) return node;
  return el("span", {}, node, el("span", { class: "real" }, " (" + real + ")"));
}

const mention = (text, mine) => el("span", { class: mine ? "mention mine" : "mention" }, text);
/** A person by the name that the workspace knows; a label that came with the text proves nothing. */
const person = (id) => mention("@" + nameOf(id), id === state.me.id);

function token(inside) {
  const [target, ...rest] = inside.split("|");
  const label = rest.length ? unescape(rest.join("|")) : "";
  if (target.startsWith("@")) return person(target.slice(1));
  if (target.startsWith("#")) return mention("#" + channelNameOf(target.slice(1)));
  if (target.startsWith("!subteam^")) return mention("@" + groupNameOf(target.slice(9)));
  if (target.startsWith("!date^")) return dateToken(target, label);
  if (target.startsWith("!")) return mention("@" + target.slice(1));
  return link(unescape(target), label);
}

// ---------------------------------------------------------------- marks within a line

const SPACE = /\s/u;
const EDGE = /[\s\p{P}\p{S}]/u;
const edge = (c) => c === undefined || EDGE.test(c);
const URL_AT = /https?:\/\/[^\s<>"'`、。，．「」（）]+/y;
/** What may stand in angle brackets; anything else was not escaped by whoever wrote it, and is words. */
const TOKEN = /^(?:[@#!]|[a-z][a-z0-9+.-]*:)/i;
const EMOJI_AT = /:([a-z0-9_+-]{1,40}(?:::skin-tone-[2-6])?):/y;

/** Slack wants an edge on both outer sides of a mark. */
const MRKDWN = { marks: { "*": "b", _: "i", "~": "s" }, strict: true, tokens: true, decode: unescape };
const MARKDOWN = { marks: { "**": "b", __: "b", "~~": "s", "*": "i", _: "i" }, strict: false, tokens: false, decode: plain };

function markAt(text, at, marks) {
  const two = text.slice(at, at + 2);
  if (Object.hasOwn(marks, two)) return two;
  return Object.hasOwn(marks, text[at]) ? text[at] : "";
}

/** Where the mark that opens at `at` is closed, within its line; -1 when nowhere. */
function closing(text, at, mark, rules, end) {
  for (let i = at + mark.length; (i = text.indexOf(mark, i)) !== -1 && i < end; i += 1) {
    if (i === at + mark.length || SPACE.test(text[i - 1])) continue;
    const after = text[i + mark.length];
    if (mark.length === 1 && after === mark && !rules.strict) { i += 1; continue; }
    if (!rules.strict && mark[0] === "*") return i;
    if (edge(after)) return i;
  }
  return -1;
}

/** A line's worth of text (or several) with its marks. */
function inline(text, rules, depth = 0) {
  const nodes = [];
  const dead = new Map();
  let begun = 0;
  const flush = (to) => { if (to > begun) nodes.push(rules.decode(text.slice(begun, to))); };
  const skip = (node, from, to) => { flush(from); nodes.push(node); begun = to; return to; };
  const lineEnd = (at) => { const n = text.indexOf("\n", at); return n < 0 ? text.length : n; };
  const at = (pattern, i) => { pattern.lastIndex = i; return pattern.exec(text); };
  let end = -1;
  for (let i = 0; i < text.length;) {
    if (i > end) { end = lineEnd(i); dead.clear(); }
    const c = text[i];
    if (c === "`" && !dead.has(c)) {
      const close = text.indexOf("`", i + 1);
      if (close > i + 1 && close <= end) { i = skip(el("code", {}, rules.decode(text.slice(i + 1, close))), i, close + 1); continue; }
      if (close < 0 || close > end) dead.set(c, true);
    } else if (c === "<" && rules.tokens) {
      const close = text.indexOf(">", i + 1);
      if (close > i + 1 && close < end && TOKEN.test(text.slice(i + 1, i + 32))) { i = skip(token(text.slice(i + 1, close)), i, close + 1); continue; }
    } else if (c === "[" && !rules.tokens && !dead.has(c)) {
      const close = text.indexOf("](", i + 1);
      const shut = close > 0 && close < end ? text.indexOf(")", close) : -1;
      if (shut > 0 && shut < end) { i = skip(link(text.slice(close + 2, shut).trim(), text.slice(i + 1, close)), i, shut + 1); continue; }
      if (close < 0 || close >= end || shut < 0) dead.set(c, true);
    } else if (c === ":") {
      const found = at(EMOJI_AT, i);
      const sign = found && emoji(found[1]);
      if (sign) { i = skip(el("span", { class: "emoji", title: ":" + found[1] + ":" }, sign), i, i + found[0].length); continue; }
    } else if (c === "h" && (i === 0 || edge(text[i - 1]))) {
      const found = at(URL_AT, i);
      if (found) {
        const url = found[0].replace(/[.,;:!?)\]*_~]+$/, "");
        i = skip(link(rules.decode(url), ""), i, i + url.length);
        continue;
      }
    } else if (c === "\\" && !rules.tokens && /[\\`*_~[\]|<>#]/.test(text[i + 1] || "")) {
      flush(i);
      begun = i + 1;
      i += 2;
      continue;
    }
    const mark = depth < 4 ? markAt(text, i, rules.marks) : "";
    const opens = mark && !SPACE.test(text[i + mark.length] || " ") && (!(rules.strict || mark[0] === "_") || edge(text[i - 1]));
    if (opens && !dead.has(mark)) {
      const close = closing(text, i, mark, rules, end);
      if (close > 0) {
        const inside = inline(text.slice(i + mark.length, close), rules, depth + 1);
        i = skip(el(rules.marks[mark], {}, inside), i, close + mark.length);
        continue;
      }
      dead.set(mark, true);
    }
    i += mark.length || 1;
  }
  flush(text.length);
  return nodes;
}

const mrkdwnInline = (text) => inline(text, MRKDWN);
const markdownInline = (text) => inline(text, MARKDOWN);

const preformatted = (text) => el("pre", { tabindex: 0, "aria-label": word("show_code") }, text);

/** Slack's mrkdwn with its quoted lines and code. */
export function mrkdwn(text) {
  const out = [];
  const fences = text.split("```");
  for (let i = 0; i < fences.length; i += 1) {
    // An opening fence without a closing one is three characters like any others.
    if (i % 2 === 1 && i < fences.length - 1) {
      if (fences[i].trim()) out.push(preformatted(unescape(fences[i].replace(/^\n/, "").replace(/\n$/, ""))));
      continue;
    }
    const part = i % 2 === 1 ? "```" + fences[i] : fences[i];
    let lines = [];
    let quoted = false;
    const flush = () => {
      while (lines.length && !lines[0]) lines.shift();
      while (lines.length && !lines[lines.length - 1]) lines.pop();
      if (lines.length) out.push(el(quoted ? "blockquote" : "div", { class: "text" }, mrkdwnInline(lines.join("\n"))));
      lines = [];
    };
    for (const line of part.split("\n")) {
      const quote = /^&gt; ?/.exec(line);
      if (Boolean(quote) !== quoted) { flush(); quoted = Boolean(quote); }
      lines.push(quote ? line.slice(quote[0].length) : line);
    }
    flush();
  }
  return out;
}

export function textObject(object) {
  if (!object) return [];
  if (object.type === "mrkdwn") return mrkdwn(object.text || "");
  // A short line over another is a name over its value.
  const pair = /^[^\n]{1,24}\n[^\n]+$/.test(object.text || "");
  return [el("div", { class: pair ? "text pair" : "text" }, object.text || "")];
}

// ---------------------------------------------------------------- rich text

function styled(node, style) {
  let out = node;
  for (const [key, tag] of [["code", "code"], ["bold", "b"], ["italic", "i"], ["strike", "s"], ["underline", "u"]]) {
    if (style && style[key]) out = el(tag, {}, out);
  }
  return out;
}

function richInline(e) {
  switch (e.type) {
    case "text": return styled(e.text || "", e.style);
    case "link": return styled(link(e.url || "", e.text), e.style);
    case "user": return person(e.user_id);
    case "channel": return mention("#" + channelNameOf(e.channel_id));
    case "usergroup": return mention("@" + groupNameOf(e.usergroup_id));
    case "broadcast": return mention("@" + e.range);
    case "color": return el("code", {}, e.value || "");
    case "date": return el("time", {}, e.fallback || clock(String(e.timestamp), true));
    case "emoji": {
      const points = (e.unicode || "").split("-").map((p) => parseInt(p, 16));
      const known = points.every((p) => p > 0 && p < 0x110000) ? String.fromCodePoint(...points) : emoji(e.name || "");
      return el("span", { class: "emoji", title: ":" + e.name + ":" }, known || ":" + e.name + ":");
    }
    default: return e.text || e.fallback || "[" + e.type + "]";
  }
}

/** All readable strings of something unknown. */
export function texts(value) {
  if (Array.isArray(value)) return value.flatMap(texts);
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inside]) =>
    typeof inside === "string" ? (["text", "alt_text", "title", "fallback"].includes(key) ? [inside] : []) : texts(inside));
}

export function richText(block) {
  return (block.elements || []).map((part) => {
    const inside = () => (part.elements || []).map(richInline);
    switch (part.type) {
      case "rich_text_section": return el("div", { class: "text" }, inside());
      case "rich_text_quote": return el("blockquote", { class: "text" }, inside());
      case "rich_text_preformatted": return el("pre", { tabindex: 0, "aria-label": word("show_code") }, inside());
      case "rich_text_list": {
        const list = el(part.style === "ordered" ? "ol" : "ul", { start: part.offset ? part.offset + 1 : undefined });
        for (const item of part.elements || []) list.append(el("li", { class: "text" }, (item.elements || []).map(richInline)));
        let out = list;
        for (let i = 0; i < Math.min(part.indent || 0, 8); i += 1) out = el("ul", { class: "indent" }, el("li", { class: "indent" }, out));
        return out;
      }
      default: return el("div", { class: "text" }, texts(part).join(" "));
    }
  });
}

// ---------------------------------------------------------------- Markdown

const ITEM = /^(\s*)(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;
const TABLE = /^\s*\|.*\|\s*$/;

/** In half widths: a character of Japanese takes two. */
const widthOf = (text) => [...text.slice(0, 40)].reduce((sum, c) => sum + (c.codePointAt(0) > 0x2e7f ? 2 : 1), 0);

/** A table that scrolls by itself; the first row is its head. */
export function table(rows, settings) {
  const align = (i) => ["right", "center"].find((a) => settings[i] && settings[i].align === a);
  const cells = (row, tag) => row.map((cell, i) => {
    const node = el(tag, { class: align(i), scope: tag === "th" ? "col" : undefined }, cell);
    // A date that is broken at its hyphens is hard to read; what is short stays on one line, and the table scrolls.
    if (widthOf(node.textContent) <= 18) node.classList.add("short");
    return node;
  });
  const [head, ...rest] = rows;
  return el("div", { class: "table", tabindex: 0, role: "group", "aria-label": word("table", { rows: rest.length }) },
    el("table", {},
      el("thead", {}, el("tr", {}, cells(head || [], "th"))),
      el("tbody", {}, rest.map((row) => el("tr", {}, cells(row, "td"))))));
}

function markdownTable(lines) {
  const rows = lines.map((line) => line.trim().slice(1, -1).split(/(?<!\\)\|/).map((c) => c.trim()));
  const rule = rows.findIndex((cells) => cells.every((c) => /^:?-+:?$/.test(c)));
  const settings = rule < 0 ? [] : rows[rule].map((c) => ({ align: c.endsWith(":") ? (c.startsWith(":") ? "center" : "right") : "left" }));
  if (rule >= 0) rows.splice(rule, 1);
  return table(rows.map((cells) => cells.map((c) => markdownInline(c.replaceAll("\\|", "|")))), settings);
}

/** Markdown as far as Slack's Markdown block has it. */
export function markdown(text) {
  const out = [];
  const lines = text.split("\n");
  const run = (from, belongs) => { let to = from; while (to < lines.length && belongs(lines[to])) to += 1; return to; };
  const special = (line) => !line.trim() || /^(```|#{1,6}\s|>|\s*([-*_])(\s*\2){2,}\s*$)/.test(line) || TABLE.test(line) || ITEM.test(line);
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const heading = /^#{1,6}\s+(.*?)(?:\s+#+)?$/.exec(line);
    if (/^```/.test(line)) {
      const to = run(i + 1, (l) => !/^```\s*$/.test(l));
      out.push(preformatted(lines.slice(i + 1, to).join("\n")));
      i = to + 1;
    } else if (TABLE.test(line)) {
      const to = run(i, (l) => TABLE.test(l));
      out.push(markdownTable(lines.slice(i, to)));
      i = to;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      out.push(el("hr"));
      i += 1;
    } else if (heading) {
      out.push(el("div", { class: "header", role: "heading", "aria-level": 3 }, markdownInline(heading[1])));
      i += 1;
    } else if (ITEM.test(line)) {
      const to = run(i, (l) => ITEM.test(l));
      out.push(...listOf(lines.slice(i, to).map((l) => ITEM.exec(l))));
      i = to;
    } else if (/^>/.test(line)) {
      const to = run(i, (l) => /^>/.test(l));
      out.push(el("blockquote", { class: "text" }, markdownInline(lines.slice(i, to).map((l) => l.replace(/^> ?/, "")).join("\n"))));
      i = to;
    } else if (line.trim()) {
      const to = Math.max(i + 1, run(i, (l) => !special(l)));
      out.push(el("div", { class: "text" }, markdownInline(lines.slice(i, to).join("\n"))));
      i = to;
    } else {
      i += 1;
    }
  }
  return out;
}

/** Items with their depth by indentation. */
function listOf(items) {
  const roots = [];
  const open = [];
  for (const [, space, bullet, number, text] of items) {
    const depth = space.replaceAll("\t", "    ").length;
    while (open.length && (open[open.length - 1].depth > depth || open.length > 8)) open.pop();
    const tag = bullet ? "UL" : "OL";
    let top = open[open.length - 1];
    if (!top || top.depth < depth || top.list.tagName !== tag) {
      const list = el(tag, { start: number && number !== "1" ? Number(number) : undefined });
      if (top && top.depth === depth) open.pop();
      const parent = open[open.length - 1];
      const holder = parent && parent.list.lastElementChild;
      if (holder) holder.append(list);
      else roots.push(list);
      top = { list, depth };
      open.push(top);
    }
    top.list.append(el("li", {}, el("span", { class: "text" }, markdownInline(text))));
  }
  return roots;
}

/** What a screen reader hears of a message, and what a quote of it shows. */
export function plainOf(m) {
  const shown = m.text
    ? m.text.replace(/<@([^|>]+)[^>]*>/g, (_, id) => "@" + nameOf(id)).replace(/<[^|>]*\|([^>]*)>/g, "$1").replace(/[<>]/g, "")
    : texts(m.blocks || []).join(" ");
  return unescape(shown).replace(/\s+/g, " ").slice(0, 300);
}
