// The Home tab of the app, beside the messages of its DM; no tabs where the app has none.

import { $, el, fill, rove } from "/dom.js";
import { icon } from "/icons.js";
import { state, drawn, word, isDm } from "/state.js";
import { act } from "/net.js";
import { blocks, describeInputs } from "/blocks.js";
import { surfaceOfView } from "/elements.js";
import { onMove, openTab } from "/place.js";

function draw() {
  const dm = isDm(state.channel) && state.home_tab;
  const tabs = $("tabs");
  tabs.hidden = !dm;
  tabs.setAttribute("aria-label", state.bot.name);
  fill(tabs, [["messages", "messages", "talk"], ["home", "home", "home"]].map(([tab, label, panel]) => el("button", {
    type: "button", role: "tab", id: "tab-" + tab, "data-tab": tab, "aria-controls": panel, "aria-selected": String(state.tab === tab),
    tabindex: state.tab === tab ? 0 : -1,
  }, word(label))));
  const home = $("home");
  const open = dm && state.tab === "home";
  home.hidden = !open;
  $("talk").hidden = open;
  for (const [name, value] of [["role", "tabpanel"], ["aria-labelledby", "tab-messages"]]) {
    if (dm) $("talk").setAttribute(name, value);
    else $("talk").removeAttribute(name);
  }
  if (!open) return;
  home.setAttribute("aria-labelledby", "tab-home");
  const list = state.home && Array.isArray(state.home.blocks) ? state.home.blocks : [];
  fill(home, [list.length
    ? el("div", { class: "home-view body" }, blocks(surfaceOfView(state.home), list))
    : el("div", { class: "empty" }, icon("home"), el("p", {}, word("empty_home")))]);
  describeInputs(home);
}

export function startHome() {
  drawn("home", draw);
  // The bot is told each time, and publishes what it wants to show.
  onMove((what) => { if (what === "tab" && state.tab === "home") act("home", {}).catch(() => undefined); });
  $("tabs").addEventListener("click", (event) => {
    const tab = event.target.closest("[data-tab]");
    if (tab) openTab(tab.dataset.tab, true);
  });
  $("tabs").addEventListener("keydown", (event) => {
    if (rove(event, [...$("tabs").children], { horizontal: true })) openTab(document.activeElement.dataset.tab, true);
  });
}

