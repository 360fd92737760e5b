// Nodes: made, and brought up to date in place. What came from somebody enters the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

/** An element. Attributes that are undefined, null or false are left out; so are such children. */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return node;
}

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);

function alike(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

/**
 * Makes `old` look like `fresh`, touching only what differs: focus, selection, scroll positions and what somebody is
 * typing survive. Listeners belong on ancestors, since either node may be the one that stays. An element with
 * `data-own` looks after its own children.
 */
export function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (!old.hasAttribute("data-own")) fill(old, [...fresh.childNodes]);
}

/** Brings the children of `parent` to `wanted`, as `morph` does. */
export function fill(parent, wanted) {
  const keyed = new Map();
  for (const node of parent.childNodes) if (keyOf(node) !== null) keyed.set(keyOf(node), node);
  let place = parent.firstChild;
  for (const fresh of wanted) {
    const key = keyOf(fresh);
    const old = key === null ? place : keyed.get(key);
    if (old && alike(old, fresh)) {
      if (old === place) place = place.nextSibling;
      else parent.insertBefore(old, place);
      morph(old, fresh);
    } else {
      parent.insertBefore(fresh, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/**
 * Brings a list to `items` (`{key, sign, build}`): an item is built only when it is new or its sign has changed.
 * Focus that was on an item which goes away moves to its neighbour.
 */
export function sync(list, items) {
  const old = new Map();
  for (const node of list.children) old.set(node.getAttribute("data-key"), node);
  let place = list.firstChild;
  for (const item of items) {
    let node = old.get(item.key);
    old.delete(item.key);
    if (!node) {
      node = item.build();
      node.setAttribute("data-key", item.key);
      node.sign = item.sign;
    } else if (node.sign !== item.sign) {
      const fresh = item.build();
      fresh.setAttribute("data-key", item.key);
      if (node.hasAttribute("tabindex")) fresh.setAttribute("tabindex", node.getAttribute("tabindex"));
      const held = node.contains(document.activeElement);
      morph(node, fresh);
      // The control that was used may be gone, as a button is once its question is settled.
      if (held && !node.contains(document.activeElement)) node.focus();
      node.sign = item.sign;
    }
    if (node === place) place = place.nextSibling;
    else list.insertBefore(node, place);
  }
  for (const node of old.values()) {
    const held = node.contains(document.activeElement);
    const neighbour = node.nextElementSibling || node.previousElementSibling;
    node.remove();
    if (held && neighbour) neighbour.focus();
  }
}

/** Says something to a screen reader, once. */
export function say(text, urgent) {
  const line = $(urgent ? "alarm" : "said");
  // The same words twice are silent unless the line was empty in between.
  line.textContent = "";
  setTimeout(() => { line.textContent = text; }, 30);
}

/** Arrow keys among the items of a list that share one tab stop. */
export function rove(event, items, { horizontal = false } = {}) {
  const at = items.indexOf(document.activeElement);
  if (at < 0 || !items.length) return false;
  const [back, on] = horizontal ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const to = { [back]: at - 1, [on]: at + 1, Home: 0, End: items.length - 1 }[event.key];
  if (to === undefined) return false;
  event.preventDefault();
  const next = items[Math.max(0, Math.min(items.length - 1, to))];
  next.focus();
  return true;
}
