"use strict";
// The audit follows, but not under the reader: who has scrolled down, or chosen
// something in it, is told that there is more and asks for it.
(() => {
  let wanted = false;
  const reading = () => {
    const entries = document.getElementById("entries");
    if (!entries) return false;
    const picked = getSelection();
    return entries.getBoundingClientRect().top < 0 || entries.contains(document.activeElement) || (!picked.isCollapsed && entries.contains(picked.anchorNode));
  };
  document.body.addEventListener("htmx:beforeSwap", (e) => {
    const live = e.detail.requestConfig.elt.id === "main";
    if (!live || wanted || e.detail.xhr.status >= 400 || !reading()) { wanted = false; return; }
    const fresh = new DOMParser().parseFromString(e.detail.serverResponse, "text/html");
    const added = [...fresh.querySelectorAll("[data-entry]")].filter((row) => !document.getElementById(row.id)).length;
    e.detail.shouldSwap = false;
    if (!added) return;
    const button = document.getElementById("show-news");
    button.textContent = added === 1 ? "Show 1 new entry" : `Show ${added} new entries`;
    document.getElementById("news").hidden = false;
    document.getElementById("said").textContent = `${added} new in the audit`;
  });
  document.addEventListener("click", (e) => {
    if (!e.target.closest("#show-news")) return;
    wanted = true;
    htmx.trigger("#main", "live");
    scrollTo({ top: 0 });
  });
})();
