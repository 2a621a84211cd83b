"use strict";
// The rate that is typed, in what will happen: as bulk.PlanOf has it.
(() => {
  const form = document.getElementById("start");
  if (!form) return;
  const total = Number(form.dataset.total), canary = Number(form.dataset.canary), step = Number(form.dataset.step);
  const show = (name, text) => document.querySelectorAll(`[data-plan=${name}]`).forEach((e) => { e.textContent = text; });
  const roughly = (s) => s < 2 ? "a moment" : s < 120 ? `about ${s} s` : s < 7200 ? `about ${Math.round(s / 60)} min` : `about ${Math.round(s / 3600)} h`;
  const plan = (full) => {
    const first = Math.min(full, Math.max(1, full / 10));
    let left = total - canary, takes = 0;
    for (let rate = first; left > 0; rate = Math.min(full, rate * 2)) {
      if (rate === full || left <= rate * step) return { first, takes: takes + Math.ceil(left / rate) };
      left -= rate * step;
      takes += step;
    }
    return { first, takes };
  };
  const update = () => {
    const full = Number(document.getElementById("rate").value);
    if (!(full > 0)) return;
    const { first, takes } = plan(full);
    show("first", String(Number(first.toFixed(2))));
    show("full", String(full));
    show("takes", roughly(takes));
  };
  form.addEventListener("input", (e) => { if (e.target.id === "rate") update(); });
})();
