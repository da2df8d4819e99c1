// SPDX-License-Identifier: GPL-3.0-or-later
// Follows a sweep: asks what is new every two seconds, and shows it without losing what the
// reader has chosen.
"use strict";
(() => {
const EVERY_MS = 2000;
let version = Number(document.body.dataset.version);
async function look() {
  try {
    const state = await (await fetch("/state")).json();
    if (state.version !== version) {
      const fresh = await (await fetch("/data")).json();
      if (fresh.version !== version) {
        version = fresh.version;
        // Rendered and escaped by the server, as at first.
        document.getElementById("top-sections").innerHTML = fresh.top;
        document.getElementById("sections").innerHTML = fresh.sections;
        document.getElementById("glitch-list").innerHTML = fresh.glitches;
        window.report.update(fresh.data);
      }
    }
    document.getElementById("progress").innerHTML = state.progress;
    document.getElementById("lost").hidden = true;
  } catch {
    document.getElementById("lost").hidden = false;
  }
  setTimeout(look, EVERY_MS);
}
setTimeout(look, EVERY_MS);
})();
