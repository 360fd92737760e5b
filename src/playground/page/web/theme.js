"use strict";
// Before anything is painted, so that a page in the other colours never flashes.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage is switched off: the system's colours */ }
