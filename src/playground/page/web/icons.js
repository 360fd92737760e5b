// The page's signs, drawn: not every machine has a font for them.

const PATHS = {
  hash: "M9.5 4 7.5 20M16.5 4l-2 16M4.5 9h16M3.5 15h16",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  home: "m4 11 8-7 8 7v9h-5.5v-5.5h-5V20H4z",
  chat: "M4 5h16v11H10l-4.5 4v-4H4z",
  smile: "M12 3.5a8.5 8.5 0 1 0 .01 0zM8.5 14c1.8 2.7 5.2 2.7 7 0M9 9.5v.5M15 9.5v.5",
  more: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  send: "m4 12 0-7.5L20.5 12 4 19.5zM4 12h8",
  plus: "M12 5v14M5 12h14",
  close: "m6 6 12 12M18 6 6 18",
  back: "M19 12H5m6-6.5L4.5 12l6.5 6.5",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 8a4 4 0 1 0 .01 0zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  auto: "M12 3.5a8.5 8.5 0 1 0 .01 0zM12 3.5v17",
  stop: "M7 7h10v10H7z",
  file: "M6 3.5h8l4.5 4.5v12.5H6zM13.5 3.5V8.5h5",
  download: "M12 4v11m-5-4.5 5 5 5-5M5 20h14",
  down: "m6.5 9.5 5.5 5.5 5.5-5.5",
  arrow: "M12 5v14m-6-6 6 6 6-6",
  check: "m5 12.5 4.5 4.5L19 7.5",
  warn: "M12 4 2.8 20h18.4zM12 10v4.5M12 17.2v.1",
  up_thumb: "M7.5 11v9H4v-9zM7.5 11l4-7c1.5 0 2.5 1 2.2 2.7L13 10h6l-1.5 9c-.2.6-.7 1-1.3 1H7.5",
  down_thumb: "M7.5 13V4H4v9zM7.5 13l4 7c1.5 0 2.5-1 2.2-2.7L13 14h6l-1.5-9c-.2-.6-.7-1-1.3-1H7.5",
  trash: "M5 7h14M9.5 7V4.5h5V7M7 7l.8 13h8.4L17 7",
  pencil: "M4.5 19.5 5.5 15 16 4.5l3.5 3.5L9 18.5z",
  at: "M12 8.5a3.5 3.5 0 1 0 .01 0zM15.5 8.5v4.5c0 3 4.5 3 4.5-1a8 8 0 1 0-3 6.3",
  leaf: "M5 19c0-9 5-14 15-14 0 10-5 15-13 14M5 19c2-5 5-7.5 9-9",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  eye: "M2.5 12s3.5-6.5 9.5-6.5 9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12zM12 9a3 3 0 1 0 .01 0z",
  keys: "M3 7h18v10H3zM7 10.5v.01M11 10.5v.01M15 10.5v.01M8 14h8",
};

/** A sign; it says nothing to a screen reader: the control around it has the name. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of [["viewBox", "0 0 24 24"], ["class", "sign"], ["aria-hidden", "true"], ["focusable", "false"]]) {
    svg.setAttribute(key, value);
  }
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name] || PATHS.more);
  svg.append(path);
  return svg;
}
