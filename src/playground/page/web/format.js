// Times as the person reads them: in their language and their zone.

import { el } from "/dom.js";
import { state, word } from "/state.js";

const formats = new Map();

function format(options) {
  const key = state.me.lang + state.me.zone + JSON.stringify(options);
  if (!formats.has(key)) {
    formats.set(key, new Intl.DateTimeFormat(state.me.lang, { timeZone: state.me.zone || "UTC", ...options }));
  }
  return formats.get(key);
}

const dateOf = (ts) => new Date(Number(String(ts).split(".")[0]) * 1000);

export function clock(ts, withDate) {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (withDate) Object.assign(options, { year: "numeric", month: "numeric", day: "numeric", weekday: "short" });
  return format(options).format(dateOf(ts));
}

const days = new Map();

/** The day of a message, in the person's zone, as `2026-12-01`. */
export function dayKey(ts, shift = 0) {
  const hour = Math.floor(Number(String(ts).split(".")[0]) / 900) * 900 + shift;
  const key = state.me.zone + hour;
  if (!days.has(key)) {
    if (days.size > 5000) days.clear();
    const parts = format({ year: "numeric", month: "2-digit", day: "2-digit", calendar: "gregory", numberingSystem: "latn" })
      .formatToParts(new Date(hour * 1000));
    const part = (type) => parts.find((p) => p.type === type).value;
    days.set(key, part("year") + "-" + part("month") + "-" + part("day"));
  }
  return days.get(key);
}

const now = () => String(Date.now() / 1000);

export function dayLabel(ts) {
  if (dayKey(ts) === dayKey(now())) return word("today");
  if (dayKey(ts) === dayKey(now(), -86400)) return word("yesterday");
  return format({ year: "numeric", month: "long", day: "numeric", weekday: "long" }).format(dateOf(ts));
}

/** When something was, beside a thread: the time today, the day before that. */
export function lately(ts) {
  if (dayKey(ts) === dayKey(now())) return clock(ts);
  return format({ month: "numeric", day: "numeric", weekday: "short" }).format(dateOf(ts)) + " " + clock(ts);
}

/** A day such as `2026-12-01`, which has no zone. */
export function inWords(day) {
  const date = new Date(day + "T00:00:00Z");
  if (Number.isNaN(date.getTime())) return "";
  return new Intl.DateTimeFormat(state.me.lang, { timeZone: "UTC", year: "numeric", month: "long", day: "numeric", weekday: "short" }).format(date);
}

const TOKENS = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { year: "numeric", month: "long", day: "numeric" },
  date_short: { year: "numeric", month: "short", day: "numeric" },
  date_long: { year: "numeric", month: "long", day: "numeric", weekday: "long" },
  time: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  time_secs: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
};

/** `!date^UNIX^FORMAT^LINK|FALLBACK` */
export function dateToken(target, fallback) {
  const [, unix, pattern] = target.split("^");
  const seconds = Number(unix);
  if (!Number.isSafeInteger(seconds) || Math.abs(seconds) > 8e12 / 1000 || !pattern) return el("time", {}, fallback || word("a_date"));
  const text = pattern.replace(/\{(\w+?)(?:_pretty)?\}/g, (whole, name) =>
    Object.hasOwn(TOKENS, name) ? format(TOKENS[name]).format(dateOf(unix)) : whole);
  return el("time", { datetime: new Date(seconds * 1000).toISOString() }, text);
}

export function fileSize(bytes) {
  const units = ["B", "KB", "MB", "GB"];
  let [size, unit] = [bytes, 0];
  while (size >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
  return (unit && size < 10 ? size.toFixed(1) : Math.round(size)) + " " + units[unit];
}

/** One of eight colours for somebody without a picture. */
export function hue(text) {
  let sum = 0;
  for (const c of text) sum = (sum * 31 + c.codePointAt(0)) % 997;
  return "h" + (sum % 8);
}
