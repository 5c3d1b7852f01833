// The selection, measured: how long, how busy each engine was, and how long two or more were busy.

// The time of disjoint spans in order that lies between two moments.
function within(spans, start, end) {
  let sum = 0;
  for (const [from, to] of spans) {
    if (from >= end) break;
    sum += Math.max(0, Math.min(to, end) - Math.max(from, start));
  }
  return sum;
}

function measured(chart, [start, end]) {
  const long = end - start;
  const share = (part) => `${time(part)} (${((100 * part) / long).toFixed(1)} %)`;
  const engines = chart.busy.map(([name, spans]) => `${name} ${share(within(spans, start, end))}`);
  const both = `two or more engines ${share(within(chart.overlap, start, end))}`;
  return `Selected ${stretch(start, end)}. Busy: ${[...engines, both].join(", ")}.`;
}

// Writes below each chart's heading what its part of the selection measures.
function writeMeasured() {
  for (const { chart, measure } of shown) {
    if (!measure) continue;
    const text = state.selection ? measured(chart, state.selection.map((at) => ownTime(chart, at))) : "";
    if (measure.textContent !== text) measure.textContent = text;
  }
  byId("selected").hidden = !state.selection;
}

// Selects the time between two moments of the view, at least a nanosecond; nothing without them.
function select(a, b) {
  const inside = (at) => Math.min(Math.max(at, view.first), view.last);
  const [start, end] = [inside(Math.min(a, b)), inside(Math.max(a, b))].map(Math.round);
  state.selection = end > start ? [start, end] : null;
  render();
}

function deselect() {
  state.selection = null;
  render();
}
