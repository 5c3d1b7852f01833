// The operations of raw_order at their modelled times, and the dependencies between them: those that the calls make, and those
// that are missing.

const WIDTH = 760;
const LEFT = 78;
const LANE = 46;
const BAR = 26;
const LANES = [
  { name: "copy in", engine: "host-to-device", style: "h2d" },
  { name: "kernel", engine: "kernel", style: "kernel" },
  { name: "copy out", engine: "device-to-host", style: "d2h" },
  { name: "host", style: "host" },
];

// From an operation to the one that must wait, by lane and batch, and the calls that make the dependency.
export const EDGES = [
  { from: [0, 0], to: [1, 0], calls: ["record-loaded", "wait-loaded"], missing: "kernel 1 does not wait for copy in 1" },
  { from: [1, 0], to: [2, 0], calls: ["record-computed", "wait-computed"], missing: "copy out 1 does not wait for kernel 1" },
  { from: [2, 0], to: [0, 1], calls: ["record-emptied", "wait-emptied"], missing: "copy in 2 does not wait for copy out 1" },
  { from: [0, 1], to: [1, 1], calls: ["record-loaded", "wait-loaded"], missing: "kernel 2 does not wait for copy in 2" },
  { from: [1, 1], to: [2, 1], calls: ["record-computed", "wait-computed"], missing: "copy out 2 does not wait for kernel 2" },
  { from: [2, 1], to: [3, 0], calls: ["synchronize"], missing: "the host does not wait for copy out 2" },
];

function element(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// When the host reads the result: after its last wait for the copies, or as soon as it has enqueued everything.
function hostReads(recording, makes) {
  const waits = recording.calls.filter(({ name }) => name === "cuStreamSynchronize");
  const enqueues = recording.calls.filter(({ name }) => name.startsWith("cuMemcpyDtoHAsync"));
  const last = (makes("synchronize") ? waits : enqueues).at(-1);
  return last?.span.end ?? 0;
}

// The bars of each lane, in microseconds from the first operation of the loop.
function bars(recording, makes) {
  const lanes = LANES.slice(0, 3).map(({ engine }) =>
    recording.intervals
      .filter((interval) => interval.engine === engine)
      .map(({ span }) => span)
      .sort((a, b) => a.start - b.start),
  );
  const begin = Math.min(...lanes.flat().map(({ start }) => start));
  const reads = Math.max(hostReads(recording, makes), begin);
  lanes.push([{ start: reads, end: reads }]);
  return lanes.map((lane) => lane.map(({ start, end }) => ({ start: (start - begin) / 1e3, end: (end - begin) / 1e3 })));
}

function head(id, colour) {
  const path = element("path", { d: "M0 0 L8 4 L0 8 z", fill: colour });
  return element("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, path);
}

// An arrow that chooses its calls, by pointer and by keyboard.
function missingArrow(edge, path, repair) {
  const label = `Missing: ${edge.missing}. Tick ${edge.calls.join(" and ")}`;
  const arrow = element("g", { role: "button", tabindex: 0, "aria-label": label, "data-calls": edge.calls.join(" ") });
  arrow.append(element("title", {}, label), element("path", { class: "target", d: path }), element("path", { class: "missing", d: path }));
  arrow.addEventListener("click", () => repair(edge.calls));
  arrow.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    repair(edge.calls);
  });
  return arrow;
}

// Draws the diagram. `makes(call)` says whether the program makes a call; `repair(calls)` has it make them.
export function diagram(recording, makes, repair) {
  const lanes = bars(recording, makes);
  const end = Math.max(...lanes.flat().map((bar) => bar.end));
  const x = (time) => LEFT + 12 + ((WIDTH - LEFT - 60) * time) / end;
  const y = (lane) => 8 + lane * LANE;
  const height = y(LANES.length) + 26;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Operations and their dependencies" });
  svg.append(element("defs", {}, head("head", "var(--arrow)"), head("missing-head", "var(--alarm)")));
  const drawn = lanes.map((lane, at) => {
    svg.append(element("rect", { class: "lane", x: LEFT, y: y(at), width: WIDTH - LEFT, height: LANE - 8 }));
    svg.append(element("text", { x: 0, y: y(at) + 24 }, LANES[at].name));
    return lane.map((bar, batch) => {
      const width = Math.max(x(bar.end) - x(bar.start), 16);
      const box = { x: x(bar.start), y: y(at) + 6, width, height: BAR };
      svg.append(element("rect", { class: LANES[at].style, rx: 3, ...box }));
      svg.append(element("text", { class: "bar", x: box.x + width / 2, y: box.y + 18 }, at === 3 ? "R" : String(batch + 1)));
      return box;
    });
  });
  const missing = [];
  for (const edge of EDGES) {
    const [from, to] = [edge.from, edge.to].map(([lane, batch]) => drawn[lane]?.[batch]);
    if (!from || !to) continue;
    const down = to.y > from.y;
    const start = [from.x + from.width, down ? from.y + BAR : from.y];
    const stop = [to.x + 4, down ? to.y - 2 : to.y + BAR + 2];
    const middle = (start[1] + stop[1]) / 2;
    const path = `M${start} C${start[0]} ${middle} ${stop[0]} ${middle} ${stop}`;
    if (edge.calls.every(makes)) svg.append(element("path", { class: "arrow", d: path }));
    else missing.push(missingArrow(edge, path, repair));
  }
  svg.append(...missing);
  svg.append(element("text", { x: WIDTH - 4, y: height - 6, "text-anchor": "end" }, `${end.toFixed(0)} µs, modelled`));
  return svg;
}
