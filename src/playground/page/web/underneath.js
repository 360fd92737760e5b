// What happens underneath a conversation: a panel for the curious, closed at first, with ways to disturb the bot.

import { $, el, fill, say } from "/dom.js";
import { icon } from "/icons.js";
import { state, drawn, redraw, here, word, kept, keep } from "/state.js";
import { act, read } from "/net.js";

/** What can be done to the bot; the last one is done here, the others by the workspace. */
const CHAOS = [
  ["deliver_twice", () => word("chaos_deliver_twice")],
  ["ack_lost", () => word("chaos_ack_lost")],
  ["reorder", () => word("chaos_reorder")],
  ["slow_slack", () => word("chaos_slow_slack")],
  ["rate_limit", () => word("chaos_rate_limit")],
  ["lose_answer", () => word("chaos_lose_answer")],
  ["kill_sales_server", () => word("chaos_kill_sales_server")],
  ["press_twice", () => word("chaos_press_twice")],
];

let open = false;
/** What waits for what comes next, by the names in `CHAOS`. */
let armed = new Set();
/** What is unfolded on the panel; it stays so when the panel is drawn anew. */
const unfolded = new Set();
/** The thread that is shown: `channel|root`. */
let shown = "";
let steps = [];
let asked = 0;
let timer = null;

/** The thread that is open, or the newest of the conversation. */
function wanted() {
  const room = here();
  if (!room || state.tab === "home") return "";
  const root = state.thread || (room.roots.length ? room.roots[room.roots.length - 1].ts : "");
  return root ? room.id + "|" + root : "";
}

async function look() {
  const place = wanted();
  if (!open) {
    shown = place;
    steps = [];
    redraw("underneath");
    return;
  }
  const mine = (asked += 1);
  const [channel, ts] = place.split("|");
  let found;
  try {
    found = await Promise.all([
      place ? read("/page/underneath", { as: state.me.id, channel, ts }) : { steps: [] },
      read("/page/chaos", {}),
    ]);
  } catch {
    return;
  }
  if (mine !== asked) return;
  shown = place;
  steps = found[0].steps;
  armed = new Set(found[1].armed);
  redraw("underneath");
}

/** Soon, and once for many changes that come together. */
function lookSoon(pause) {
  if (!open) return;
  clearTimeout(timer);
  timer = setTimeout(look, pause);
}

// ---------------------------------------------------------------- words for a step

const KINDS = {
  event: () => word("step_event"),
  interaction: () => word("step_interaction"),
  api: () => word("step_api"),
  job: () => word("step_job"),
  said: () => word("step_said"),
  call: () => word("step_call"),
  result: () => word("step_result"),
  note: () => word("step_note"),
  answer: () => word("step_answer"),
  proposed: () => word("step_proposed"),
  press: () => word("step_press"),
  decided: () => word("step_decided"),
  settled: () => word("step_settled"),
  message: () => word("step_message"),
};

const last = (list) => (list && list.length ? list[list.length - 1] : null);

function summary({ kind, detail: d }) {
  const heard = (status, took) => (status === null ? word("no_answer") : status + (took === null ? "" : " · " + took + " ms"));
  switch (kind) {
    case "event": {
      const attempt = last(d.attempts);
      const times = d.attempts && d.attempts.length > 1 ? " ×" + d.attempts.length : "";
      return d.type + times + (attempt ? " → " + heard(attempt.status, attempt.took_ms) : "");
    }
    case "interaction": return d.action + " → " + heard(d.status, d.took_ms);
    case "api": return d.method + (d.args && d.args.text ? " “" + d.args.text.slice(0, 60) + "”" : "");
    case "job": return d.state + (d.attempts ? " · " + d.attempts : "");
    case "call": return d.tool + " " + d.arguments;
    case "result": return d.content.slice(0, 80);
    case "proposed": return d.tool + " " + d.proposal + "… · " + d.state;
    case "press": return d.action + " " + d.proposal + "…" + (d.outcome ? " → " + d.outcome : "");
    case "decided": return d.proposal + "…";
    case "settled": return d.proposal + "… → " + d.state + (d.code_sales ? " " + d.code_sales : "") + (d.failure ? " " + d.failure : "");
    case "message": return d.what + " · v" + d.sent_version + "/" + d.version + (d.attempts ? " · " + d.attempts : "");
    default: return (d.text || "").slice(0, 80);
  }
}

/** Which side of the system a step belongs to; its colour. */
const side = (kind) => (["event", "interaction", "api"].includes(kind) ? "wire" : ["call", "result", "answer"].includes(kind) ? "model" : "store");

// ---------------------------------------------------------------- drawing

/** Names for steps that stay when others slip in between: what a step is, when it was, and what it is about. */
function keysOf(all) {
  const seen = new Map();
  return all.map(({ kind, at, detail: d }) => {
    const key = [kind, at, d.event_id || d.proposal || d.what || d.action || d.method || d.tool || ""].join("|");
    const before = seen.get(key) || 0;
    seen.set(key, before + 1);
    return key + "|" + before;
  });
}

function step(first, s, key) {
  const after = s.at - first;
  const when = after < 10000 ? "+" + after + " ms" : "+" + (after / 1000).toFixed(1) + " s";
  const label = (KINDS[s.kind] || (() => s.kind))();
  return el("li", { "data-key": key },
    el("details", { class: "step " + side(s.kind), "data-open": key, open: unfolded.has(key) },
      el("summary", {},
        el("span", { class: "when" }, when), " ", el("b", {}, label), " ", el("span", { class: "what" }, summary(s))),
      el("pre", { tabindex: "0", "aria-label": label }, JSON.stringify(s.detail, null, 2))));
}

function draw() {
  const panel = $("underneath");
  panel.hidden = !open;
  const button = $("behind");
  button.hidden = state.tab === "home";
  button.setAttribute("aria-expanded", String(open));
  button.setAttribute("aria-label", word("underneath"));
  button.title = word("underneath");
  if (!open) return;
  panel.setAttribute("aria-label", word("underneath"));
  const first = steps.length ? steps[0].at : 0;
  const keys = keysOf(steps);
  const list = steps.map((s, i) => step(first, s, keys[i]));
  fill(panel, [
    el("header", {},
      el("div", { class: "titles" }, el("h2", {}, word("underneath")), el("p", {}, word("underneath_about"))),
      el("button", { type: "button", class: "icon", "data-do": "shut", "aria-label": word("shut_underneath") }, icon("close"))),
    el("div", { class: "scroll", tabindex: "-1" },
      el("details", { class: "chaos", "data-open": "chaos", open: unfolded.has("chaos") },
        el("summary", {}, word("chaos")),
        el("p", { class: "hint" }, word("chaos_about")),
        el("div", { class: "wishes" }, CHAOS.map(([what, label]) =>
          el("button", { type: "button", "data-chaos": what, "aria-pressed": what === "kill_sales_server" ? undefined : String(isArmed(what)) }, label())))),
      list.length ? el("ol", { class: "steps" }, list) : el("p", { class: "hint" }, word("underneath_empty"))),
  ]);
}

const isArmed = (what) => (what === "press_twice" ? Boolean(state.twice) : armed.has(what));

/** Has it wait for what comes next; a second time lets it be. */
async function disturb(what) {
  const on = !isArmed(what);
  if (what === "press_twice") {
    state.twice = on;
  } else {
    try {
      armed = new Set((await act("chaos", { what, on })).armed);
      // A look that is under way does not know of it.
      asked += 1;
    } catch {
      say(word("chaos_refused"), true);
      return;
    }
  }
  redraw("underneath");
  say(word(on ? "chaos_armed" : "chaos_disarmed"));
}

function toggle(on) {
  open = on;
  keep("underneath", on);
  redraw("underneath");
  if (on) {
    look();
    $("underneath").querySelector("button, summary")?.focus();
  } else {
    $("behind").focus();
  }
}

export function startUnderneath() {
  open = kept("underneath", false) === true && !matchMedia("(max-width: 760px)").matches;
  $("behind").append(icon("eye"));
  drawn("underneath", () => {
    if (open && wanted() !== shown) lookSoon(0);
    draw();
  });
  $("behind").addEventListener("click", () => toggle(!open));
  $("underneath").addEventListener("click", (event) => {
    const chaos = event.target.closest("[data-chaos]");
    if (chaos) disturb(chaos.dataset.chaos);
    else if (event.target.closest("[data-do=shut]")) toggle(false);
  });
  $("underneath").addEventListener("toggle", ({ target }) => {
    if (target.dataset.open) unfolded[target.open ? "add" : "delete"](target.dataset.open);
  }, true);
  $("underneath").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    toggle(false);
  });
  // What the bot stores changes a moment after what people see does; both looks are cheap.
  document.addEventListener("changed", () => lookSoon(250));
  setInterval(() => { if (open && document.visibilityState === "visible") look(); }, 2000);
}
