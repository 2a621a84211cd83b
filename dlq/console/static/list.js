"use strict";
// The list of dead letters: selecting, by mouse and by keys. What is ticked is
// sent by the form, which needs no script.
(() => {
  const rows = () => [...document.querySelectorAll("#rows tr.letter")];
  const box = (row) => row.querySelector("input[name=ids]");
  const boxes = () => rows().map(box);
  const byID = (id) => document.getElementById(id);
  let anchor = null; // row from which a range reaches

  // What is ticked, in words and on the button.
  const count = () => {
    const all = boxes().filter((b) => !b.disabled);
    const n = all.filter((b) => b.checked).length;
    if (byID("count")) byID("count").textContent = n ? `${n} selected` : "Tick dead letters to replay them together.";
    if (byID("replaypicked")) {
      byID("replaypicked").disabled = !n;
      byID("replaypicked").textContent = n ? `Replay the ${n} selected` : "Replay the selected";
    }
    if (byID("unpick")) byID("unpick").hidden = !n;
    const every = byID("all");
    if (every) {
      every.checked = n > 0 && n === all.length;
      every.indeterminate = n > 0 && n < all.length;
      every.disabled = !all.length;
    }
    return n;
  };
  const tick = (b, on) => { if (!b.disabled) b.checked = on; };
  const tickRange = (row, on) => {
    const all = rows();
    const [from, to] = [all.indexOf(anchor), all.indexOf(row)].sort((a, b) => a - b);
    all.slice(from, to + 1).forEach((r) => tick(box(r), on));
  };
  const told = () => { Console.say(`${count()} selected`); };

  document.addEventListener("click", (e) => {
    if (e.target.id === "all") {
      boxes().forEach((b) => tick(b, e.target.checked));
      told();
    } else if (e.target.id === "unpick") {
      boxes().forEach((b) => { b.checked = false; });
      told();
    } else if (e.target.name === "ids") {
      const row = e.target.closest("tr");
      if (e.shiftKey && anchor?.isConnected) tickRange(row, e.target.checked);
      anchor = row;
      told();
    } else if (e.target.closest("[data-keys]")) {
      byID("keys").showModal();
    }
  });

  // Keys: they move the focus, so that it is always seen where one is.
  const current = () => document.activeElement?.closest?.("#rows tr.letter");
  const move = (by) => {
    const all = rows();
    const at = all.indexOf(current());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!next) return;
    next.querySelector("a.open").focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const pick = (shift) => {
    const row = current();
    if (!row) return;
    if (box(row).disabled) {
      Console.say(box(row).title);
      return;
    }
    const on = !box(row).checked;
    if (shift && anchor?.isConnected) tickRange(row, on); else tick(box(row), on);
    anchor = row;
    told();
  };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    x: () => pick(false),
    X: () => pick(true),
    a: () => byID("all")?.click(),
    n: () => document.querySelector("a[rel=next]")?.click(),
    "/": () => {
      byID("filter").open = true;
      byID("filter-eventType").focus();
    },
    "?": () => byID("keys").showModal(),
  };
  const typing = (e) => e.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog[open]");
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || !keys[e.key] || typing(e.target) || byID("keys")?.open) return;
    e.preventDefault();
    keys[e.key]();
  });

  // A page that came anew: what cannot be replayed any more is not selected.
  const dress = () => {
    let left = 0;
    rows().forEach((row) => {
      const b = box(row);
      const barred = row.dataset.barred;
      if (!barred) return;
      if (b.checked) left++;
      b.checked = false;
      b.disabled = true;
      b.title = barred;
    });
    count();
    if (left) Console.say(`${left} no longer selected: what may be done with them has changed`);
  };
  document.addEventListener("console:dressed", dress);
  addEventListener("pageshow", count); // a browser that goes back ticks again what was ticked
  dress();
})();
