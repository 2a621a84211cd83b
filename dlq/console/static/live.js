"use strict";
// Pages that follow what changes: a stream names it, and the page fetches itself
// again. Where that fails it says so, and leaves what is shown and typed alone.
(() => {
  const silence = 15000; // three beats of the stream that did not come
  const doubt = 3000; // a stream that breaks is back before that, if the service is
  const again = 5000; // while something is wrong the page looks whether it still is
  const pace = 2000; // between two looks: a bulk replay changes something all the time
  const patience = 30000; // a page that is seen again after that does not wait to be told what it missed
  const seats = 4; // streams of one browser: on HTTP/1.1 it has six connections to one service, and each takes one
  const banner = document.getElementById("connection");
  const main = () => document.getElementById("main");
  const state = { source: null, url: "", heard: Date.now(), fresh: Date.now(), due: false, broken: 0, asked: 0, next: 0, trouble: "", outcome: "", ended: 0, retries: 0, retry: 0, turn: 0, leave: null };

  const unknown = "It is not known whether what you sent was done: look before you send it again. ";

  // The banner, with a link to another tab where that helps.
  const show = (text, link) => {
    if (banner.textContent !== text + (link ?? "")) {
      banner.replaceChildren(text);
      if (link) {
        const a = Object.assign(document.createElement("a"), { href: location.href, target: "_blank", rel: "noopener", textContent: link });
        banner.append(a);
      }
    }
    banner.hidden = !text;
    document.body.classList.toggle("stale", Boolean(text));
  };
  const trouble = (kind, text, link) => { state.trouble = kind; show(text, link); };
  const lost = () => trouble("lost", `The service does not answer. What you see is of ${Console.moment(state.fresh)}, and may be old. ${state.outcome}This page goes on by itself when it is back.`);
  const well = () => {
    state.outcome = "";
    if (state.trouble) trouble("", "");
  };
  // What became of a form is said until all is well, and what is not known of one
  // is not hidden by the next.
  const ended = (outcome) => {
    state.ended = performance.now();
    if (state.outcome !== unknown) state.outcome = outcome;
  };

  const refresh = () => {
    state.due = true;
    if (state.next) return;
    const rest = Math.min(pace, state.asked + pace - Date.now());
    if (rest > 0) {
      state.next = setTimeout(() => { state.next = 0; refresh(); }, rest);
      return;
    }
    state.asked = Date.now();
    htmx.trigger("#main", "live");
  };
  const close = () => {
    clearTimeout(state.retry);
    state.retry = 0;
    state.turn++;
    state.source?.close();
    state.leave?.();
    state.source = state.leave = null;
  };
  // Heard is what says that the service is there, or is given time to: what is shown
  // is no fresher by that alone.
  const heard = () => { state.heard = Date.now(); state.broken = 0; };
  const fresh = () => { state.fresh = Date.now(); };
  const later = (ms) => {
    clearTimeout(state.retry);
    state.retry = setTimeout(() => { state.retry = 0; listen(); }, ms);
  };
  // A seat for a stream, as what gives it back; null where the browser's other pages
  // have all. Without TLS nobody counts them.
  const seat = async () => {
    for (let n = 0; navigator.locks && n < seats; n++) {
      const leave = await new Promise((got) => navigator.locks.request(`console stream ${n}`, { ifAvailable: true }, (lock) => lock ? new Promise(got) : got(null)).catch(() => got(null)));
      if (leave) return leave;
    }
    return navigator.locks ? null : () => {};
  };
  const listen = async () => {
    if (state.source && state.url === main().dataset.live) return;
    close();
    state.url = main().dataset.live ?? "";
    if (!state.url || document.hidden) return;
    const turn = state.turn;
    const leave = await seat();
    if (turn !== state.turn) {
      leave?.();
      return;
    }
    if (!leave) {
      refresh(); // that keeps the page fresh until there is a seat
      later(10000);
      return;
    }
    state.leave = leave;
    const source = new EventSource(`${state.url}&since=${encodeURIComponent(main().dataset.since)}`);
    state.source = source;
    source.addEventListener("hello", () => {
      heard();
      state.retries = 0;
      if (state.trouble) refresh();
    });
    source.addEventListener("beat", () => {
      heard();
      if (!state.due && !state.trouble) fresh();
    });
    source.addEventListener("change", () => { heard(); refresh(); });
    source.onerror = () => {
      state.broken ||= Date.now();
      if (source.readyState !== EventSource.CLOSED || state.source !== source) return;
      close();
      refresh(); // its answer tells why; while there is no stream it is also what keeps the page fresh
      later(Math.min(10000, 2000 * 2 ** state.retries++)); // within the silence, which would be told
    };
  };
  setInterval(() => {
    if (!state.url || document.hidden) return;
    if (state.trouble) {
      if (Date.now() - state.asked > again) refresh();
    } else if (Date.now() - state.heard > silence) {
      lost();
      close(); // a stream that is open and says nothing is dead, whether its browser knows or not
      listen();
    } else if (state.broken && Date.now() - state.broken > doubt) lost();
  }, 500);

  // Answers. A fault does not take the page's place.
  const isForm = (e) => e.detail.requestConfig?.elt instanceof HTMLFormElement;
  document.body.addEventListener("htmx:configRequest", (e) => { e.detail.headers["X-Requested-With"] = "XMLHttpRequest"; }); // proxies then answer 401 in place of a page to sign in
  document.body.addEventListener("htmx:beforeSend", (e) => { e.detail.xhr.began = performance.now(); });
  document.body.addEventListener("htmx:beforeSwap", (e) => {
    const { xhr, requestConfig } = e.detail;
    const form = isForm(e) ? requestConfig.elt : null;
    const fault = new DOMParser().parseFromString(xhr.responseText, "text/html");
    const strange = !fault.getElementById("main");
    if (strange || xhr.getResponseHeader("Console-Fault")) {
      e.detail.shouldSwap = false;
      if (form) {
        Console.answered(form, false);
        ended(xhr.status < 500 ? "Nothing was done. " : unknown);
      }
      const sentence = (p) => p.textContent.trim().replace(/^./u, (c) => c.toUpperCase()).replace(/[.:]$/, "") + ".";
      const text = strange ? [`Something between you and the service answers (${xhr.status}).`] : [...fault.querySelectorAll(".fault h1, .fault p.why")].map(sentence);
      const asks = xhr.status === 401;
      trouble("refused", `${text.join(" ")} ${state.outcome}What you see may be old; what you typed is kept. `, asks ? "Sign in again in another tab" : "");
      return;
    }
    heard();
    fresh();
    state.due = false;
    if (form || xhr.began > state.ended) well(); // a look from before says nothing of a form
    if (!form) return;
    const path = (url) => new URL(url, location).pathname;
    if (xhr.status < 400 && ![path(requestConfig.path), location.pathname].includes(path(xhr.responseURL))) { // led to another screen, with an address and a style of its own
      e.detail.shouldSwap = false;
      location.assign(xhr.responseURL);
      return;
    }
    Console.forget();
    Console.answered(form, xhr.status < 400);
    if (xhr.status === 412) Console.renew(form);
  });
  document.body.addEventListener("htmx:afterSettle", (e) => {
    if (isForm(e)) document.querySelector(".notice")?.focus();
    if (!state.retry || state.url !== (main().dataset.live ?? "")) listen();
  });
  const failed = (e) => {
    if (isForm(e)) {
      Console.answered(e.detail.requestConfig.elt, false);
      ended(unknown);
    }
    lost();
    if (!state.source && !state.retry) later(2000);
  };
  document.body.addEventListener("htmx:sendError", failed);
  document.body.addEventListener("htmx:timeout", failed);

  // A page that nobody sees leaves the stream to others. Seen again, it is told what it
  // missed.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
    } else if (!state.source) {
      heard();
      listen();
      if (state.url && Date.now() - state.fresh > patience) refresh();
    }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => { if (e.persisted) { heard(); listen(); refresh(); } });

  listen();
})();
