"use strict";
// The filter form: times in the reader's zone, and nothing in the address that
// is not set. And how often a screen of many documents fetches itself again.
const Pace = (() => {
  // pace leaves at least so many milliseconds between two fetches: in a flood of
  // changes each would read the whole page.
  const pace = (every) => {
    let last = 0;
    let later = 0;
    document.body.addEventListener("htmx:beforeRequest", (e) => {
      if (e.detail.elt.id !== "main") return;
      const rest = last + every - Date.now();
      if (rest <= 0) {
        last = Date.now();
        return;
      }
      e.preventDefault();
      clearTimeout(later);
      later = setTimeout(() => htmx.trigger("#main", "live"), rest);
    });
  };

  const local = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/;
  document.addEventListener("submit", (e) => {
    if (e.target.id !== "filterform") return;
    e.target.setAttribute("aria-busy", "true");
    e.target.querySelectorAll("[data-time]").forEach((input) => {
      const text = input.value.trim();
      if (!local.test(text)) return;
      const at = new Date((text.length === 10 ? `${text}T00:00` : text.replace(" ", "T")));
      if (!Number.isNaN(at.getTime())) input.value = at.toISOString();
    });
  });
  addEventListener("pageshow", () => document.getElementById("filterform")?.removeAttribute("aria-busy"));

  const dress = () => document.querySelectorAll("#filterform .zone").forEach((z) => { z.textContent = "in your zone"; });
  document.addEventListener("console:dressed", dress);
  dress();
  return pace;
})();
