"use strict";
// Draws the last ten minutes of each lane. Without it the numbers stand there all
// the same.
(() => {
  const every = 5000;
  const charts = new Map(); // element -> uPlot
  let data = null;

  // What is drawn here is no page's: a fresh page leaves it.
  const before = Idiomorph.defaults.callbacks.beforeNodeMorphed;
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => old instanceof HTMLElement && "kept" in old.dataset ? false : before(old, fresh);

  // A canvas takes no variables of style sheets.
  const ink = (within, name) => {
    const probe = document.createElement("span");
    probe.className = `ink-${name}`;
    within.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const lasting = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : ms < 120000 ? `${+(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
  const rate = (n) => n < 10 ? String(+n.toFixed(1)) : String(Math.round(n));
  const known = (list) => list.filter((v) => v !== null);
  const span = (list, say) => {
    const all = known(list);
    return all.length ? `${say(Math.min(...all))} to ${say(Math.max(...all))}` : "not known";
  };

  const draw = (element, series, lane, label, say) => {
    const height = 120, width = element.clientWidth;
    if (!width) return;
    const rows = [data.at, ...series.map((s) => s.values)];
    element.setAttribute("aria-label", label);
    const drawn = charts.get(element);
    if (drawn && drawn.width === width && element.contains(drawn.root)) {
      drawn.setData(rows);
      return;
    }
    if (drawn) drawn.destroy();
    const axis = { stroke: ink(element, "axis"), grid: { stroke: ink(element, "grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const end = () => data.at[data.at.length - 1];
    charts.set(element, new uPlot({
      width, height, legend: { show: false }, cursor: { show: false }, padding: [8, 4, 0, 0],
      scales: {
        x: { range: () => [end() - 600, end()] },
        y: { range: (_, low, high) => [0, Math.max(high || 0, 1) * 1.1] },
      },
      axes: [
        { ...axis, size: 22, space: 60, values: (_, ticks) => ticks.map((t) => new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(t * 1000)) },
        { ...axis, size: 56, space: 28, values: (_, ticks) => ticks.map(say) },
      ],
      series: [{}, ...series.map((s) => ({ stroke: ink(element, s.ink), width: 2, dash: s.dash, points: { show: false }, spanGaps: false }))],
    }, rows, element));
  };

  const drawAll = () => {
    if (!data || data.at.length === 0) return;
    for (const lane of data.lanes) {
      const box = document.querySelector(`.charts[data-lane="${CSS.escape(lane.lane)}"]`);
      if (!box) continue;
      draw(box.querySelector("[data-of=rate]"), [{ values: lane.in, ink: "in" }, { values: lane.out, ink: "out" }], lane,
        `Records a second of ${lane.lane} in the last ten minutes: ${span(lane.in, rate)} in, ${span(lane.out, rate)} out`, rate);
      // The SLA is drawn where it is near: else the lag would lie on the ground.
      const most = Math.max(0, ...known(lane.p99));
      const sla = most * 4 < lane.slaMillis ? lane.p99.map(() => null) : lane.p99.map(() => lane.slaMillis);
      draw(box.querySelector("[data-of=lag]"), [{ values: lane.p50, ink: "p50" }, { values: lane.p99, ink: "p99" }, { values: sla, ink: "sla", dash: [6, 4] }], lane,
        `Lag of ${lane.lane} in the last ten minutes: p99 ${span(lane.p99, lasting)}, SLA ${lasting(lane.slaMillis)}`, lasting);
      box.querySelector(".ink-sla").hidden = sla.every((v) => v === null);
    }
  };

  const fetchAll = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("/console/chart", { headers: { Accept: "application/json" } });
      if (answer.ok) data = await answer.json();
    } catch {
      return; // the page itself says that the service does not answer
    }
    drawAll();
  };

  const redraw = () => {
    charts.forEach((c) => c.destroy());
    charts.clear();
    drawAll();
  };
  addEventListener("resize", drawAll);
  dark.addEventListener("change", redraw);
  document.addEventListener("visibilitychange", fetchAll);
  setInterval(fetchAll, every);
  fetchAll();
})();
