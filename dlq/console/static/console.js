"use strict";
// What the pages do beyond forms and links. Everything here can be missing: the
// pages then stand still, show UTC, and are sent and loaded whole.
const Console = (() => {
  const $ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const say = (text) => { document.getElementById("said").textContent = text; };

  // Times, in the reader's zone and with its name: alerts and logs tell UTC, which stays in the title.
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const moment = (ms) => format.format(new Date(ms));
  const ago = (ms) => {
    const s = Math.round(Math.abs(ms) / 1000);
    const [n, unit] = s < 90 ? [s, "s"] : s < 5400 ? [Math.round(s / 60), "min"] : s < 129600 ? [Math.round(s / 3600), "h"] : [Math.round(s / 86400), "d"];
    return ms < 0 ? `in ${n} ${unit}` : `${n} ${unit} ago`;
  };
  const times = () => $("time[datetime]").forEach((t) => {
    const at = Date.parse(t.dateTime);
    const text = "ago" in t.dataset ? ago(Date.now() - at) : moment(at);
    if (t.textContent !== text) t.textContent = text;
  });
  setInterval(times, 5000);

  // Copy buttons.
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button.copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
      say("Copied");
    } catch {
      button.textContent = "not allowed";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });

  // A choice that needs no button.
  document.addEventListener("change", (e) => {
    if ("submit" in e.target.dataset) e.target.form.requestSubmit();
  });

  // A form that does something is sent once: its buttons are dead until the
  // answer is there. This runs before htmx sees the event.
  const sent = (form, yes) => {
    if (yes) form.dataset.sent = "yes"; else delete form.dataset.sent;
    $("button[type=submit]", form).forEach((b) => { if (yes) b.setAttribute("aria-disabled", "true"); else b.removeAttribute("aria-disabled"); });
  };
  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) {
      e.preventDefault();
      e.stopImmediatePropagation();
      return;
    }
    sent(form, true);
  }, true);
  addEventListener("pageshow", () => $("form[data-sent]").forEach((form) => sent(form, false)));

  // What somebody is writing, has opened or ticked is theirs: a fresh page leaves
  // it. So it does the notice of what became of an action, for a while.
  const touched = (e) => e instanceof HTMLInputElement && (e.type === "checkbox" || e.type === "radio") ? e.checked !== e.defaultChecked
    : (e instanceof HTMLTextAreaElement || e instanceof HTMLInputElement) && e.type !== "hidden" ? e.value !== e.defaultValue
    : e instanceof HTMLSelectElement ? [...e.options].some((o) => o.selected !== o.defaultSelected) : false;
  // What its reader saw, as a form that is open or half written says it, is renewed
  // by the refusal for it alone: else they decide about what they never saw.
  const seen = (e) => e instanceof HTMLInputElement && "seen" in e.dataset && (e.closest("details[open]") || [...e.form.elements].some(touched));
  const renew = (form) => $("[data-seen]", form).forEach((e) => { delete e.dataset.seen; });
  const noticeFor = 30000;
  const noticed = new WeakMap(); // notices, with the time since when they are shown
  const kept = (e) => e instanceof HTMLElement && e.classList.contains("notice") && (e === document.activeElement || e.classList.contains("wrong") || !(Date.now() - noticed.get(e) >= noticeFor)); // one that came this moment has no time yet
  // A form stays until its answer, even where what it does is barred meanwhile.
  const unanswered = (e) => e instanceof Element && (e.matches("form[data-sent]") || e.querySelector("form[data-sent]"));
  // A field that one is in is left alone. Anything else that has the focus, such as
  // the whole content, is no reason to stand still: Idiomorph asks at each morph.
  Object.defineProperty(Idiomorph.defaults, "ignoreActiveValue", { enumerable: true, get: () => Boolean(document.activeElement?.matches("input, textarea, select")) });
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeNodeMorphed(old, fresh) {
      if (touched(old) || seen(old)) return false;
      if (old.id === "main" && !fresh.querySelector(".notice")) fresh.prepend(...$(":scope > .notice", old).filter(kept).map((n) => n.cloneNode(true))); // else what follows the notice is made anew while that has the focus
      if (old instanceof HTMLFormElement && fresh instanceof HTMLFormElement && old.dataset.sent) fresh.dataset.sent = old.dataset.sent;
      return true;
    },
    beforeAttributeUpdated: (name, node) => !(name === "open" && (node instanceof HTMLDetailsElement || node instanceof HTMLDialogElement)) && !(name === "aria-disabled" && node.form?.dataset.sent),
    beforeNodeRemoved: (node) => !kept(node) && !unanswered(node),
  });

  const dress = () => {
    times();
    $("button.copy, [data-scripted]").forEach((e) => { e.hidden = false; });
    $("[data-scriptless]").forEach((e) => { e.hidden = true; });
    $(".notice").forEach((n) => { if (!noticed.has(n)) noticed.set(n, Date.now()); });
    $("main [autofocus]").forEach((e) => e.removeAttribute("autofocus")); // else it takes the focus again with each fresh page
    document.dispatchEvent(new CustomEvent("console:dressed"));
  };
  document.body.addEventListener("htmx:afterSettle", dress);

  // Answered: the form can be sent again, and is empty unless it was refused. The
  // notices of the action before it have had their time.
  const answered = (form, well) => {
    sent(form, false);
    if (!well) return;
    form.reset();
    form.closest("details")?.removeAttribute("open");
  };
  const forget = () => $(".notice").forEach((n) => n.remove());

  // What became of an action is in the address for those without scripts.
  const address = new URL(location);
  if (address.searchParams.has("done")) {
    address.searchParams.delete("done");
    history.replaceState(null, "", address);
  }

  document.querySelector("main [autofocus]")?.focus(); // the answer of a form that led here
  dress();
  return { moment, say, answered, renew, forget };
})();
