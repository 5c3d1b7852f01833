// What colours, lines and arrows mean, as far as the charts have them.

const SIGNS = {
  dependency: '<path d="M1 3L19 11" class="thin"/><path d="M21 12L15 12L17 7z" class="tip"/>',
  enqueues: '<path d="M2 12L18 3" class="call"/><path d="M21 1L16 2L18 7z" class="call tip"/>',
  critical: '<path d="M1 11H9L13 4H21" class="thick"/>',
  bound: '<path d="M11 0V14" class="dashed"/>',
  barrier: '<path d="M1 13L9 1M7 13L15 1M13 13L21 1" class="thin"/>',
  finding: '<rect x="2" y="2" width="18" height="10" class="finding"/>',
};

function sign(name) {
  const made = element("span");
  made.innerHTML = `<svg viewBox="0 0 22 14" aria-hidden="true">${SIGNS[name]}</svg>`;
  return made.firstChild;
}

function swatch(colour) {
  const made = element("i");
  made.style.background = `var(--${colour})`;
  return made;
}

function legend() {
  const entries = new Map();
  for (const { chart } of shown) {
    for (const row of chart.group("engines")?.rows ?? []) entries.set(row.name, () => swatch(row.lanes[0][0].colour));
  }
  const some = (which) => shown.some(({ chart }) => which(chart));
  const add = (which, name, made) => some(which) && entries.set(name, made);
  add((chart) => chart.ranges.length, "phase of the host", () => swatch("range"));
  add((chart) => chart.calls.some((call) => !call.waits), "call by the host", () => swatch("call"));
  add((chart) => chart.calls.some((call) => call.waits), "the host waits", () => swatch("wait"));
  add((chart) => chart.overlap.length, "two or more engines busy", () => swatch("overlap"));
  add((chart) => chart.calls.some((call) => call.enqueued), "call → the operation that it enqueued", () => sign("enqueues"));
  add((chart) => chart.dependencies.length, "operation → one that waited for it through an event", () => sign("dependency"));
  add((chart) => chart.critical.length, "critical path, inferred from the times", () => sign("critical"));
  add((chart) => chart.bound !== null, "bound: the shortest possible time", () => sign("bound"));
  add((chart) => chart.barriers.length, "the legacy stream runs: blocking streams wait", () => sign("barrier"));
  add((chart) => chart.findings.length, "operation of a finding", () => sign("finding"));
  byId("legend").replaceChildren(...[...entries].map(([name, made]) => element("li", {}, made(), name)));
}
