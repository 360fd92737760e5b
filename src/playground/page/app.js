"use strict";
// A small Slack client. Everything that came from somebody enters the page as text, never as markup.

const $ = (id) => document.getElementById(id);
const state = {
  me: null, bot: null, names: {}, words: {}, channels: new Map(), messages: new Map(), statuses: new Map(),
  unread: new Set(), presses: new Map(), prompts: null, examples: [], channel: "", thread: "", dm: "",
};
let source = null;
let buffered = null;

// ---------------------------------------------------------------- building blocks

function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(options || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

function word(name, values) {
  const text = state.words[name] || "";
  return text.replace(/\{(\w+)\}/g, (whole, key) => (values && key in values ? String(values[key]) : whole));
}

async function call(path, body) {
  const options = body
    ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
    : {};
  const response = await fetch(path, options);
  if (!response.ok) throw new Error(path + " " + response.status);
  return response.json();
}

const unescape = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

// ---------------------------------------------------------------- Slack's text

function safeUrl(url) {
  return /^(https?:\/\/|mailto:|tel:)/i.test(url) ? url : null;
}

function link(url, label) {
  const href = safeUrl(url);
  if (!href) return el("span", {}, label || url);
  return el("a", { href, target: "_blank", rel: "noopener noreferrer", title: word("link_hint", { url }) }, label || url);
}

const person = (id) => el("span", { class: "mention" }, "@" + (state.names[id] || id));
const channelName = (id, name) => el("span", { class: "mention" }, "#" + (name || state.names[id] || id));

/** `<…>` tokens of Slack's text. */
function token(inside) {
  const [target, ...rest] = inside.split("|");
  const label = rest.length ? unescape(rest.join("|")) : "";
  if (target.startsWith("@")) return person(target.slice(1));
  if (target.startsWith("#")) return channelName(target.slice(1), label);
  if (target.startsWith("!date")) return el("time", {}, label || target);
  if (target.startsWith("!")) return el("span", { class: "mention" }, label || "@" + target.slice(1).replace(/^subteam\^/, ""));
  return link(unescape(target), label);
}

const MARKS = [["*", "b"], ["_", "i"], ["~", "s"]];
const MRKDWN = /```([\s\S]+?)```|`([^`\n]+)`|<([^<>\n]+)>|(^|[\s\p{P}])([*_~])(?=\S)([^\n]*?\S)\5(?=$|[\s\p{P}])/mu;

/** Slack's mrkdwn as nodes. */
function mrkdwn(text) {
  const nodes = [];
  let rest = text;
  for (let m = MRKDWN.exec(rest); m; m = MRKDWN.exec(rest)) {
    nodes.push(unescape(rest.slice(0, m.index)));
    if (m[1] !== undefined) nodes.push(el("pre", { tabindex: 0, "aria-label": word("show_code") }, unescape(m[1].replace(/^\n/, ""))));
    else if (m[2] !== undefined) nodes.push(el("code", {}, unescape(m[2])));
    else if (m[3] !== undefined) nodes.push(token(m[3]));
    else nodes.push(unescape(m[4]), el(MARKS.find(([mark]) => mark === m[5])[1], {}, mrkdwn(m[6])));
    rest = rest.slice(m.index + m[0].length);
  }
  nodes.push(unescape(rest));
  return nodes.filter((n) => n !== "");
}

/** mrkdwn with its quoted lines. */
function paragraphs(text) {
  const out = [];
  for (const part of text.split(/((?:^&gt; ?.*(?:\n|$))+)/m)) {
    if (!part) continue;
    if (/^&gt;/.test(part)) out.push(el("blockquote", {}, mrkdwn(part.replace(/^&gt; ?/gm, "").replace(/\n$/, ""))));
    else out.push(el("div", { class: "text" }, mrkdwn(part.replace(/^\n|\n$/g, ""))));
  }
  return out;
}

function textObject(object) {
  if (!object) return [];
  if (object.type === "mrkdwn") return paragraphs(object.text || "");
  return [el("div", { class: "text" }, object.text || "")];
}

// ---------------------------------------------------------------- rich text

function styled(node, style) {
  let out = node;
  for (const [key, tag] of [["code", "code"], ["bold", "b"], ["italic", "i"], ["strike", "s"], ["underline", "u"]]) {
    if (style && style[key]) out = el(tag, {}, out);
  }
  return out;
}

function inline(e) {
  switch (e.type) {
    case "text": return styled(e.text || "", e.style);
    case "link": return styled(link(e.url || "", e.text), e.style);
    case "user": return person(e.user_id);
    case "channel": return channelName(e.channel_id);
    case "usergroup": return el("span", { class: "mention" }, "@" + e.usergroup_id);
    case "broadcast": return el("span", { class: "mention" }, "@" + e.range);
    case "color": return el("code", {}, e.value || "");
    case "date": return el("time", {}, e.fallback || clock(String(e.timestamp), true));
    case "emoji": {
      const points = (e.unicode || "").split("-").map((p) => parseInt(p, 16));
      return points.every((p) => p > 0 && p < 0x110000) ? String.fromCodePoint(...points) : ":" + e.name + ":";
    }
    default: return e.text || e.fallback || "[" + e.type + "]";
  }
}

function richText(block) {
  return (block.elements || []).map((part) => {
    const inside = () => (part.elements || []).map(inline);
    switch (part.type) {
      case "rich_text_section": return el("div", { class: "text" }, inside());
      case "rich_text_quote": return el("blockquote", {}, inside());
      case "rich_text_preformatted": return el("pre", { tabindex: 0, "aria-label": word("show_code") }, inside());
      case "rich_text_list": {
        const list = el(part.style === "ordered" ? "ol" : "ul", { start: part.offset ? part.offset + 1 : undefined });
        for (const item of part.elements || []) list.append(el("li", {}, (item.elements || []).map(inline)));
        let out = list;
        for (let i = 0; i < Math.min(part.indent || 0, 8); i += 1) out = el("ul", { class: "indent" }, el("li", { class: "indent" }, out));
        return out;
      }
      default: return el("div", { class: "text" }, texts(part).join(" "));
    }
  });
}

// ---------------------------------------------------------------- Markdown block, the little that is needed

function markdownInline(text) {
  const nodes = [];
  let rest = text;
  const mark = /`([^`\n]+)`|\*\*(.+?)\*\*|__(.+?)__|~~(.+?)~~|\*(\S[^*\n]*?)\*|!?\[([^\]\n]*)\]\(([^)\s]+)\)/;
  for (let m = mark.exec(rest); m; m = mark.exec(rest)) {
    nodes.push(rest.slice(0, m.index));
    if (m[1]) nodes.push(el("code", {}, m[1]));
    else if (m[2] || m[3]) nodes.push(el("b", {}, markdownInline(m[2] || m[3])));
    else if (m[4]) nodes.push(el("s", {}, markdownInline(m[4])));
    else if (m[5]) nodes.push(el("i", {}, markdownInline(m[5])));
    else nodes.push(link(m[7], m[6]));
    rest = rest.slice(m.index + m[0].length);
  }
  nodes.push(rest);
  return nodes.filter((n) => n !== "");
}

function markdown(text) {
  const out = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i];
    const heading = /^#{1,6} +(.*)$/.exec(line);
    const item = /^\s*(?:([-*+])|\d+[.)]) +(.*)$/.exec(line);
    if (/^```/.test(line)) {
      const code = [];
      for (i += 1; i < lines.length && !/^```/.test(lines[i]); i += 1) code.push(lines[i]);
      out.push(el("pre", { tabindex: 0, "aria-label": word("show_code") }, code.join("\n")));
    } else if (/^\|.*\|\s*$/.test(line)) {
      const rows = [];
      for (; i < lines.length && /^\|.*\|\s*$/.test(lines[i]); i += 1) rows.push(lines[i].trim().slice(1, -1).split("|"));
      i -= 1;
      const body = rows.filter((cells) => !cells.every((c) => /^\s*:?-+:?\s*$/.test(c)));
      out.push(tableOf(body.map((cells) => cells.map((c) => markdownInline(c.trim()))), []));
    } else if (heading) {
      out.push(el("div", { class: "header" }, markdownInline(heading[1])));
    } else if (item) {
      const tag = item[1] ? "UL" : "OL";
      let list = out[out.length - 1];
      if (!(list instanceof HTMLElement && list.tagName === tag)) {
        list = el(tag, {});
        out.push(list);
      }
      list.append(el("li", {}, markdownInline(item[2])));
    } else if (/^> ?/.test(line)) {
      out.push(el("blockquote", {}, markdownInline(line.replace(/^> ?/, ""))));
    } else if (line.trim()) {
      out.push(el("div", { class: "text" }, markdownInline(line)));
    }
  }
  return out;
}

// ---------------------------------------------------------------- Block Kit

function tableOf(rows, settings) {
  const align = (i) => ["right", "center"].find((a) => settings[i] && settings[i].align === a);
  const cells = (row, tag) => row.map((cell, i) => el(tag, { class: align(i), scope: tag === "th" ? "col" : undefined }, cell));
  const [head, ...rest] = rows;
  return el("div", { class: "table", tabindex: 0, role: "region" },
    el("table", {},
      el("thead", {}, el("tr", {}, cells(head || [], "th"))),
      el("tbody", {}, rest.map((row) => el("tr", {}, cells(row, "td"))))));
}

/** All readable strings of something unknown. */
function texts(value) {
  if (Array.isArray(value)) return value.flatMap(texts);
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inside]) =>
    typeof inside === "string" ? (["text", "alt_text", "title", "fallback"].includes(key) ? [inside] : []) : texts(inside));
}

function button(message, block, element) {
  const key = [message.channel, message.ts, block.block_id, element.action_id].join("|");
  const press = state.presses.get(key);
  const busy = press === "sending";
  const label = element.text ? element.text.text : element.type;
  const style = ["primary", "danger"].includes(element.style) ? " " + element.style : "";
  const nodes = [el("button", {
    type: "button", class: "press" + style, "data-action": element.action_id, "aria-disabled": String(busy),
    "aria-label": busy ? undefined : element.accessibility_label,
    onclick: () => onPress(key, message, block, element),
  }, busy ? word("sending") : label)];
  if (press === "failed") nodes.push(el("p", { class: "failed", role: "alert" }, "⚠ " + word("press_failed")));
  return nodes;
}

function element(message, block, e) {
  if (e.type === "button") return button(message, block, e);
  if (e.type === "image") return [el("span", {}, word("image", { alt: e.alt_text || "" }))];
  return [el("span", { class: "gone" }, texts(e).join(" ") || word("cannot_show", { kind: e.type }))];
}

function blockNodes(message, block) {
  switch (block.type) {
    case "header": return [el("div", { class: "header", role: "heading", "aria-level": 3 }, (block.text || {}).text || "")];
    case "section": {
      const inside = el("div", {}, textObject(block.text));
      if (block.fields) inside.append(el("div", { class: "fields" }, block.fields.map((f) => el("div", {}, textObject(f)))));
      return [el("div", { class: "section" }, inside, block.accessory ? element(message, block, block.accessory) : [])];
    }
    case "context":
      return [el("div", { class: "context" }, (block.elements || []).map((e) =>
        e.type === "image" ? el("span", {}, word("image", { alt: e.alt_text || "" })) : el("div", {}, textObject(e))))];
    case "actions":
    case "context_actions":
      return [el("div", { class: "actions" }, (block.elements || []).flatMap((e) => element(message, block, e)))];
    case "divider": return [el("hr")];
    case "rich_text": return richText(block);
    case "markdown": return markdown(block.text || "");
    case "image": return [el("div", { class: "gone" }, word("image", { alt: block.alt_text || "" }))];
    case "table": {
      const cell = (c) => (c.type === "rich_text" ? richText(c) : [String(c.text ?? c.value ?? "")]);
      return [tableOf((block.rows || []).map((row) => row.map(cell)), block.column_settings || [])];
    }
    default: return [el("div", { class: "gone" }, texts(block).join(" ") || word("cannot_show", { kind: block.type }))];
  }
}

// ---------------------------------------------------------------- messages

function clock(ts, withDate) {
  const date = new Date(Number(ts.split(".")[0]) * 1000);
  const options = { timeZone: state.me.zone || "UTC", hour: "2-digit", minute: "2-digit" };
  if (withDate) Object.assign(options, { year: "numeric", month: "numeric", day: "numeric", weekday: "short" });
  return new Intl.DateTimeFormat(state.me.lang, options).format(date);
}

function dayKey(ts, shift) {
  const date = new Date((Number(ts.split(".")[0]) + (shift || 0)) * 1000);
  return new Intl.DateTimeFormat("en-CA", { timeZone: state.me.zone || "UTC" }).format(date);
}

function dayLabel(ts) {
  const now = String(Date.now() / 1000);
  if (dayKey(ts) === dayKey(now)) return word("today");
  if (dayKey(ts) === dayKey(now, -86400)) return word("yesterday");
  const options = { timeZone: state.me.zone || "UTC", year: "numeric", month: "long", day: "numeric", weekday: "long" };
  return new Intl.DateTimeFormat(state.me.lang, options).format(new Date(Number(ts.split(".")[0]) * 1000));
}

const isReply = (m) => m.thread_ts && m.thread_ts !== m.ts;
const rootOf = (m) => m.thread_ts || m.ts;

function inChannel(channel) {
  return [...(state.messages.get(channel) || new Map()).values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
}

function hue(text) {
  let sum = 0;
  for (const c of text) sum = (sum * 31 + c.codePointAt(0)) % 997;
  return "h" + (sum % 8);
}

function buildMessage(message, replies, inThread) {
  const name = state.names[message.user] || message.user;
  const face = message.is_bot ? "face bot" : "face " + hue(message.user);
  const by = el("p", { class: "by" }, el("b", {}, name));
  if (message.is_bot) by.append(el("span", { class: "badge" }, word("app_badge")));
  by.append(el("time", { title: clock(message.ts, true) }, clock(message.ts)));
  if (message.edited) by.append(" ", el("span", { class: "mark" }, word("edited")));
  const body = el("div", { class: "body" });
  if (message.tombstone) body.append(el("div", { class: "gone" }, word("deleted")));
  else if (message.blocks && message.blocks.length) body.append(...message.blocks.flatMap((b) => blockNodes(message, b)));
  else body.append(...paragraphs(message.text));
  const status = state.statuses.get(message.channel + "|" + message.ts);
  if (!inThread && status) body.append(el("p", { class: "status" }, status));
  if (!inThread && !message.ephemeral) {
    const label = replies ? word(replies === 1 ? "reply_one" : "reply_many", { n: replies }) : word("new_thread");
    body.append(el("button", { type: "button", class: replies ? "more" : "more quiet", onclick: () => openThread(message.ts, true) }, label));
  }
  return el("li", {
    class: "message" + (message.ephemeral ? " ephemeral" : ""), "data-ts": message.ts, "data-user": message.user,
  }, message.ephemeral ? el("p", { class: "only-you" }, word("only_you")) : [],
  el("span", { class: face, "aria-hidden": "true" }, [...name][0] || "?"), by, body);
}

/** Brings a list to the wanted items, touching only what differs, so that focus and screen readers are left alone. */
function sync(list, items) {
  const old = new Map([...list.children].map((node) => [node.dataset.key, node]));
  let place = list.firstChild;
  for (const item of items) {
    let node = old.get(item.key);
    old.delete(item.key);
    if (!node || node.dataset.sign !== item.sign) {
      const fresh = item.build();
      fresh.dataset.key = item.key;
      fresh.dataset.sign = item.sign;
      if (node) {
        const focused = node.contains(document.activeElement) && document.activeElement.dataset.action;
        if (place === node) place = node.nextSibling;
        node.replaceWith(fresh);
        const again = focused && fresh.querySelector("[data-action='" + CSS.escape(focused) + "']");
        if (again) again.focus();
      }
      node = fresh;
    }
    if (node === place) place = place.nextSibling;
    else list.insertBefore(node, place);
  }
  for (const node of old.values()) node.remove();
}

function sign(message, extra) {
  const presses = [...state.presses].filter(([key]) => key.startsWith(message.channel + "|" + message.ts + "|"));
  const status = state.statuses.get(message.channel + "|" + message.ts);
  return JSON.stringify([message, presses, status, extra, state.me.lang, state.me.id]);
}

function pinned(scroll, draw) {
  const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  draw();
  if (atEnd) scroll.scrollTop = scroll.scrollHeight;
}

function drawLog() {
  const all = inChannel(state.channel);
  const counts = new Map();
  for (const m of all) if (isReply(m) && !m.ephemeral) counts.set(m.thread_ts, (counts.get(m.thread_ts) || 0) + 1);
  const items = [];
  let day = "";
  for (const m of all.filter((m) => !isReply(m))) {
    if (dayKey(m.ts) !== day) {
      day = dayKey(m.ts);
      const label = dayLabel(m.ts);
      items.push({ key: "day" + day, sign: label, build: () => el("li", { class: "day" }, label) });
    }
    const n = counts.get(m.ts) || 0;
    items.push({ key: m.ts, sign: sign(m, n), build: () => buildMessage(m, n, false) });
  }
  if (!items.length) {
    const channel = state.channels.get(state.channel);
    const text = word(state.channel === state.dm ? "empty_dm" : channel && !channel.has_bot ? "no_bot_here" : "empty_channel");
    items.push({ key: "empty", sign: text, build: () => el("li", { class: "empty" }, text) });
  }
  pinned($("scroll"), () => sync($("log"), items));
}

function drawThread() {
  const open = Boolean(state.thread);
  $("thread").hidden = !open;
  $("app").classList.toggle("with-thread", open);
  if (!open) return;
  const all = inChannel(state.channel).filter((m) => rootOf(m) === state.thread);
  const n = all.filter((m) => isReply(m) && !m.ephemeral).length;
  const items = all.map((m) => ({ key: m.ts, sign: sign(m, 0), build: () => buildMessage(m, 0, true) }));
  if (n) {
    const label = word(n === 1 ? "reply_one" : "reply_many", { n });
    items.splice(1, 0, { key: "count", sign: label, build: () => el("li", { class: "count" }, label) });
  }
  const status = state.statuses.get(state.channel + "|" + state.thread);
  pinned($("thread-scroll"), () => {
    sync($("thread-log"), items);
    $("status").hidden = !status;
    $("status").textContent = status || "";
  });
}

const sigil = (channel) => (channel && channel.is_private ? el("span", { class: "lock", role: "img", "aria-label": word("private") }) : "# ");

function drawSide() {
  const item = (channel, label) => el("li", {}, el("button", {
    type: "button", "data-channel": channel.id, "aria-current": channel.id === state.channel ? "page" : undefined,
    class: state.unread.has(channel.id) ? "unread" : undefined, onclick: () => openChannel(channel.id, true),
  }, ...label));
  const rooms = [...state.channels.values()].filter((c) => !c.is_im);
  $("channels").replaceChildren(...rooms.map((c) => item(c, [sigil(c), c.name])));
  $("dms").replaceChildren(item({ id: state.dm }, [state.bot.name]));
}

function drawHead() {
  const channel = state.channels.get(state.channel);
  const isDm = state.channel === state.dm;
  const name = isDm ? state.bot.name : channel ? channel.name : "";
  $("where").replaceChildren(...(isDm ? [] : [sigil(channel)]), name);
  document.title = name + " – " + word("title");
  $("text").placeholder = isDm ? word("write_dm") : word("write_to", { name: channel ? channel.name : "" });
  $("mention").hidden = isDm;
  $("thread-mention").hidden = isDm;
}

function drawExamples() {
  const channel = state.channels.get(state.channel);
  const isDm = state.channel === state.dm;
  const prompts = isDm && Array.isArray(state.prompts) ? state.prompts : [];
  const offers = [...prompts.map((p) => [p.title, p.message]), ...state.examples.map((e) => [e, e])];
  $("examples").hidden = !offers.length || (!isDm && !(channel && channel.has_bot));
  $("examples").firstElementChild.textContent = word("examples");
  $("examples").lastElementChild.replaceChildren(...offers.map(([title, text]) => el("li", {}, el("button", {
    type: "button",
    onclick: () => {
      $("text").value = isDm ? text : "@" + state.bot.handle + " " + text;
      grow($("text"));
      $("text").focus();
    },
  }, title))));
}

function drawLabels() {
  document.documentElement.lang = state.me.lang;
  const label = (id, name) => $(id).setAttribute("aria-label", word(name));
  $("who-label").textContent = word("people");
  $("channels-title").textContent = word("channels");
  $("dms-title").textContent = word("direct_message");
  $("thread-title").textContent = word("thread");
  label("side", "sidebar");
  label("menu", "menu");
  label("back", "back");
  label("close", "close_thread");
  label("log", "messages");
  label("thread-log", "thread");
  label("thread", "thread");
  label("text", "composer");
  label("thread-text", "write_reply");
  label("mention", "mention_bot");
  label("thread-mention", "mention_bot");
  $("thread-text").placeholder = word("write_reply");
  $("send").textContent = word("send");
  $("thread-send").textContent = word("send");
  $("offline").textContent = word("reconnecting");
}

function drawAll() {
  drawLabels();
  drawHead();
  drawSide();
  drawExamples();
  drawLog();
  drawThread();
}

// ---------------------------------------------------------------- where we are

function place(push) {
  const hash = "#" + new URLSearchParams({ as: state.me.id, c: state.channel, ...(state.thread ? { t: state.thread } : {}) });
  if (hash !== location.hash) history[push ? "pushState" : "replaceState"](null, "", hash);
}

function openChannel(id, push) {
  const changed = id !== state.channel;
  state.channel = id;
  if (changed) state.thread = "";
  state.unread.delete(id);
  $("side").classList.remove("open");
  $("menu").setAttribute("aria-expanded", "false");
  place(push);
  drawHead();
  drawSide();
  drawExamples();
  drawLog();
  drawThread();
  $("examples").open = inChannel(id).length === 0;
  if (changed) $("scroll").scrollTop = $("scroll").scrollHeight;
  if (id === state.dm) call("/page/open", { as: state.me.id }).catch(() => undefined);
}

function openThread(ts, push) {
  state.thread = ts;
  place(push);
  drawThread();
  if (ts) {
    $("thread-scroll").scrollTop = $("thread-scroll").scrollHeight;
    $("thread-text").focus();
  } else {
    $("text").focus();
  }
}

// ---------------------------------------------------------------- acts

async function onPress(key, message, block, element) {
  if (state.presses.get(key) === "sending") return;
  if (element.url) window.open(safeUrl(element.url) || "about:blank", "_blank", "noopener");
  if (element.confirm && !window.confirm([element.confirm.title, element.confirm.text].map((t) => (t ? t.text : "")).join("\n"))) return;
  const redraw = () => { drawLog(); drawThread(); };
  state.presses.set(key, "sending");
  redraw();
  let warning = true;
  try {
    ({ warning } = await call("/page/press", {
      as: state.me.id, channel: message.channel, ts: message.ts, block_id: block.block_id, action_id: element.action_id,
    }));
  } catch { /* told below */ }
  if (warning) {
    state.presses.set(key, "failed");
    redraw();
    return;
  }
  // The bot has taken the press; what comes of it arrives as a changed message. If none comes, the button is free again.
  setTimeout(() => { if (state.presses.get(key) === "sending") { state.presses.delete(key); redraw(); } }, 5000);
}

function grow(area) {
  area.style.height = "auto";
  area.style.height = Math.min(area.scrollHeight, 200) + "px";
}

function composer(form, area, mention, thread) {
  let busy = false;
  const error = form.querySelector(".error");
  const submit = async () => {
    const text = area.value.trim();
    if (!text || busy || !state.me) return;
    busy = true;
    const said = { as: state.me.id, channel: state.channel, thread_ts: thread() || undefined, text };
    area.value = "";
    grow(area);
    error.hidden = true;
    try {
      const { ts } = await call("/page/say", said);
      const reaches = said.channel === state.dm || text.includes("@" + state.bot.handle);
      if (!said.thread_ts && reaches && state.channel === said.channel) openThread(ts, true);
      $("examples").open = false;
    } catch {
      if (!area.value) area.value = text;
      grow(area);
      error.textContent = word("not_sent");
      error.hidden = false;
    }
    busy = false;
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  area.addEventListener("input", () => grow(area));
  area.addEventListener("keydown", (event) => {
    // Enter that confirms a Japanese conversion belongs to the input method: Safari tells it by 229 only.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit();
  });
  mention.addEventListener("click", () => {
    area.setRangeText("@" + state.bot.handle + " ", area.selectionStart, area.selectionEnd, "end");
    grow(area);
    area.focus();
  });
}

// ---------------------------------------------------------------- what the server tells

function putMessage(message) {
  if (!state.messages.has(message.channel)) state.messages.set(message.channel, new Map());
  state.messages.get(message.channel).set(message.ts, message);
}

function setStatus(channel, thread, text) {
  const key = channel + "|" + thread;
  if (text) {
    state.statuses.set(key, text);
    setTimeout(() => { if (state.statuses.get(key) === text) { state.statuses.delete(key); drawLog(); drawThread(); } }, 120000);
  } else {
    state.statuses.delete(key);
  }
}

function apply(change) {
  if (change.message) {
    const m = change.message;
    putMessage(m);
    for (const key of [...state.presses.keys()]) if (key.startsWith(m.channel + "|" + m.ts + "|")) state.presses.delete(key);
    if (m.is_bot) state.statuses.delete(m.channel + "|" + rootOf(m));
    if (m.ephemeral) for (const [key, value] of state.presses) if (value === "sending") state.presses.delete(key);
    if (m.channel !== state.channel && m.user !== state.me.id) { state.unread.add(m.channel); drawSide(); }
  }
  if (change.deleted) (state.messages.get(change.deleted.channel) || new Map()).delete(change.deleted.ts);
  if (change.status) setStatus(change.status.channel, change.status.thread_ts, change.status.text);
  if (change.prompts) { state.prompts = change.prompts; drawExamples(); }
  if (change.channel) { state.channels.set(change.channel.id, change.channel); drawSide(); }
  drawLog();
  drawThread();
}

async function load(user) {
  buffered = [];
  const full = await call("/page/state?as=" + encodeURIComponent(user));
  const first = !state.me || state.me.id !== full.me.id;
  Object.assign(state, {
    me: full.me, bot: full.bot, names: full.names, words: full.words, prompts: full.prompts, examples: full.examples, dm: full.dm,
    channels: new Map(full.channels.map((c) => [c.id, c])), messages: new Map(), statuses: new Map(), presses: new Map(),
  });
  full.messages.forEach(putMessage);
  full.statuses.forEach((s) => setStatus(s.channel, s.thread_ts, s.text));
  $("team").textContent = full.team;
  $("role").textContent = full.me.title;
  $("banner").textContent = full.banner || "";
  $("banner").hidden = !full.banner;
  $("offline").hidden = true;
  const waiting = buffered;
  buffered = null;
  waiting.forEach(apply);
  if (first) {
    state.unread.clear();
    const hash = new URLSearchParams(location.hash.slice(1));
    const wanted = hash.get("c");
    state.channel = "";
    drawLabels();
    openChannel(wanted && (wanted === full.dm || state.channels.has(wanted)) ? wanted : full.dm, false);
    const thread = hash.get("t");
    if (thread && (state.messages.get(state.channel) || new Map()).has(thread)) openThread(thread, false);
    place(false);
  } else {
    drawAll();
  }
}

function connect(user) {
  if (source) source.close();
  source = new EventSource("/page/events?as=" + encodeURIComponent(user));
  // Said at the beginning and after every gap: only a full load is certain to miss nothing.
  source.addEventListener("hello", () => load(user).catch(() => { $("offline").hidden = false; }));
  source.addEventListener("change", (event) => {
    const change = JSON.parse(event.data);
    if (buffered) buffered.push(change);
    else if (state.me) apply(change);
  });
  source.addEventListener("error", () => {
    $("offline").hidden = false;
    // The browser reconnects by itself unless the answer was an error.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(user), 1500);
  });
}

async function start() {
  const { people } = await call("/page/people");
  const wanted = new URLSearchParams(location.hash.slice(1)).get("as") || localStorage.getItem("as");
  const me = people.find((p) => p.id === wanted) || people[0];
  $("who").replaceChildren(...people.map((p) => el("option", { value: p.id }, p.name + (p.title ? " · " + p.title : ""))));
  $("who").value = me.id;
  $("who").addEventListener("change", () => {
    localStorage.setItem("as", $("who").value);
    history.pushState(null, "", "#" + new URLSearchParams({ as: $("who").value }));
    state.thread = "";
    connect($("who").value);
  });
  $("menu").addEventListener("click", () => {
    const open = $("side").classList.toggle("open");
    $("menu").setAttribute("aria-expanded", String(open));
    if (open) $("who").focus();
  });
  $("main").addEventListener("click", (event) => {
    if (!event.target.closest("#menu")) $("side").classList.remove("open");
  });
  for (const id of ["close", "back"]) $(id).addEventListener("click", () => openThread("", true));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    if ($("side").classList.contains("open")) $("menu").click();
    else if (state.thread) openThread("", true);
  });
  window.addEventListener("popstate", () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    const as = hash.get("as");
    if (as && as !== state.me.id) {
      $("who").value = as;
      connect(as);
      return;
    }
    openChannel(hash.get("c") || state.dm, false);
    openThread(hash.get("t") || "", false);
  });
  composer($("composer"), $("text"), $("mention"), () => "");
  composer($("thread-composer"), $("thread-text"), $("thread-mention"), () => state.thread);
  connect(me.id);
}

start().catch(() => setTimeout(() => location.reload(), 2000));
