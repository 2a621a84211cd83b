"use strict";
// One dead letter: what was uncovered stays in this tab until it is covered, and
// a reason that was typed outlives the form that it was typed into.
(() => {
  const coverAfter = 10 * 60 * 1000;
  const uncovered = () => document.querySelector("#record[data-uncovered]");

  // A fresh page is covered: it leaves what this tab uncovered as it is.
  const morphed = Idiomorph.defaults.callbacks.beforeNodeMorphed;
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => {
    const kept = old instanceof HTMLElement && "uncovered" in old.dataset && fresh instanceof HTMLElement && fresh.id === old.id && !("uncovered" in fresh.dataset);
    return kept ? false : morphed(old, fresh);
  };
  const cover = () => {
    const record = uncovered();
    if (!record) return;
    delete record.dataset.uncovered;
    document.getElementById("record-text").textContent = "…";
    record.querySelectorAll("[data-copy]").forEach((button) => button.remove());
    htmx.trigger("#main", "live");
  };
  document.addEventListener("click", (e) => {
    if (!e.target.closest("#cover")) return;
    e.preventDefault();
    cover();
  });
  // By the clock: a timer does not count while a machine sleeps.
  let until = 0; // 0: nothing is uncovered
  const look = () => {
    if (!until || Date.now() < until) return;
    until = 0;
    cover();
  };
  document.addEventListener("console:dressed", () => { until = uncovered() ? until || Date.now() + coverAfter : 0; });
  document.addEventListener("visibilitychange", look);
  setInterval(look, 5000);

  // Somebody else's decision may take away the form that one is writing into. What
  // was written is kept beside the reason why it cannot be sent any more.
  const typed = new Map();
  document.body.addEventListener("htmx:beforeSwap", () => {
    typed.clear();
    document.querySelectorAll(".act textarea").forEach((t) => { if (t.value !== t.defaultValue) typed.set(t.id.replace("reason-", ""), t.value); });
  });
  const kept = new Map();
  document.addEventListener("console:dressed", () => {
    typed.forEach((text, name) => { if (!document.getElementById(`reason-${name}`)) kept.set(name, text); });
    typed.clear();
    kept.forEach((text, name) => {
      const why = document.getElementById(`why-${name}`);
      if (!why || why.parentElement.querySelector(".kept")) return;
      const p = document.createElement("p");
      p.className = "kept";
      p.textContent = `You had written: ${text}`;
      why.after(p);
    });
  });
})();
