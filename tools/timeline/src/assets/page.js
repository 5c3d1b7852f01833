// The page: what is chosen, the window of time that all charts share, and what the reader does to it.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const view = { start: 0, end: 1, total: 1 };
const NARROWEST = 20;

// Of each chart that is shown: the recording, its canvas, its plot, and the mark of the keyboard's focus.
let shown = [];
let pointed = null;
let pointer = null;
let frame = 0;
let colours = {};

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "quiet", "line", "row", "overlap", "on", "h2d", "kernel", "d2h", "d2d", "set", "function",
    "range", "arrow", "alarm"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function render() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    const scene = { view, colours, pointed, pointer, overlap: byId("overlap").checked, dependencies: byId("dependencies").checked };
    for (const { chart, canvas } of shown) if (canvas) paint(chart, canvas, scene);
    byId("window").value = shown.some(({ canvas }) => canvas) ? stretch(view.start, view.end) : "";
    placeFocus();
  });
}

// Shows the time between two moments, as far as there is any.
function show(start, end) {
  const long = Math.min(Math.max(end - start, Math.min(NARROWEST, view.total)), view.total);
  view.start = Math.min(Math.max(start, 0), view.total - long);
  view.end = view.start + long;
  render();
}

function zoom(factor, at = (view.start + view.end) / 2) {
  show(at - (at - view.start) * factor, at + (view.end - at) * factor);
}

function pan(share) {
  const by = (view.end - view.start) * share;
  show(view.start + by, view.end + by);
}

function showThing(things) {
  const start = Math.min(...things.map((thing) => thing.start));
  const end = Math.max(...things.map((thing) => thing.end));
  const around = Math.max((end - start) * 0.25, NARROWEST / 2);
  show(Math.max(start - around, 0), Math.min(end + around, view.total));
}

// The charts of the chosen part and variant.
function choose() {
  const figure = data.figures[Number(byId("variant").value)];
  byId("question").textContent = figure ? figure.question : "";
  hideTooltip();
  shown = (figure?.charts ?? []).map((chart) => ({ chart: new Chart(chart) }));
  byId("charts").replaceChildren(...shown.map(section));
  if (!figure) byId("charts").append(element("p", { textContent: "No timeline was recorded." }));
  view.total = Math.max(1, ...shown.map(({ chart }) => chart.end));
  const names = shown.flatMap(({ chart }) => chart.rows.map((row) => row.name.length));
  byId("charts").style.setProperty("--labels", `${Math.min(Math.max(70, ...names.map((long) => long * 8 + 14)), 230)}px`);
  byId("dependencies").disabled = !shown.some(({ chart }) => chart.dependencies.length);
  byId("overlap").disabled = !shown.some(({ chart }) => chart.overlap.length);
  legend();
  show(0, view.total);
}

function section(entry) {
  const { chart } = entry;
  const made = element("section", { className: "chart" },
    element("h2", { textContent: chart.label }),
    element("p", { className: "summary quiet", textContent: chart.summary }));
  made.setAttribute("aria-label", chart.label);
  if (!chart.operations.length) return made;
  const labels = element("div", { className: "labels" });
  for (const row of chart.rows) {
    if (row.heading) labels.append(label(`${row.heading}${row.kind === "host" ? "" : "s"}`, row.top - 9, "group"));
    labels.append(label(row.name, row.top + row.height / 2, ""));
  }
  entry.canvas = element("canvas");
  entry.canvas.style.height = `${chart.height}px`;
  entry.canvas.setAttribute("aria-hidden", "true");
  entry.focus = element("button", { type: "button", className: "operation", hidden: true });
  entry.plot = element("div", { className: "plot", tabIndex: 0 }, entry.canvas, entry.focus);
  entry.plot.setAttribute("role", "application");
  entry.plot.setAttribute("aria-label", `Timeline, ${chart.label}: ${chart.summary}`);
  entry.plot.setAttribute("aria-describedby", "keys");
  listen(entry);
  made.append(element("div", { className: "frame" }, labels, entry.plot));
  if (chart.findings.length) made.append(findings(chart));
  return made;
}

function label(text, y, className) {
  const made = element("span", { textContent: middleShortened(text, 26), title: text, className });
  made.style.top = `${y}px`;
  return made;
}

// Names often differ in their last letters, so it is the middle that is left out.
function middleShortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - half).join("")}…${letters.slice(-half).join("")}`;
}

function findings(chart) {
  const entries = chart.findings.map((finding, n) => {
    const entry = element("li", {}, element("b", { textContent: n + 1 }), element("pre", { textContent: finding.text }));
    if (finding.operations.length) {
      const button = element("button", { type: "button", textContent: "Show" });
      button.setAttribute("aria-label", `Show the operations of finding ${n + 1}`);
      button.onclick = () => showThing(finding.operations.map((index) => chart.operations[index]));
      entry.append(button);
    }
    return entry;
  });
  const made = element("ol", { className: "findings" }, ...entries);
  made.setAttribute("aria-label", "Findings");
  return made;
}

function legend() {
  const entries = new Map();
  for (const { chart } of shown) {
    for (const row of chart.rows) if (row.kind === "engine") entries.set(row.lanes[0][0].colour, row.name);
    if (chart.ranges.length) entries.set("range", "phase of the host");
    if (chart.overlap.length) entries.set("overlap", "two or more engines busy");
  }
  byId("legend").replaceChildren(...[...entries].map(([colour, name]) => {
    const swatch = element("i");
    swatch.style.background = `var(--${colour})`;
    return element("li", {}, swatch, name);
  }));
}

function fillVariants() {
  const part = byId("part").value;
  const own = data.figures.map((figure, n) => [figure, n]).filter(([figure]) => figure.part === part);
  byId("variant").replaceChildren(...own.map(([figure, n]) => element("option", { value: n, textContent: figure.variant })));
  choose();
}

function begin() {
  byId("notes").textContent = data.notes.join("\n");
  const parts = [...new Set(data.figures.map((figure) => figure.part))];
  byId("part").replaceChildren(...parts.map((part) => element("option", { value: part, textContent: part })));
  byId("part").onchange = fillVariants;
  byId("variant").onchange = choose;
  byId("closer").onclick = () => zoom(0.5);
  byId("wider").onclick = () => zoom(2);
  byId("whole").onclick = () => show(0, view.total);
  byId("overlap").onchange = byId("dependencies").onchange = render;
  byId("controls").onsubmit = (event) => event.preventDefault();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); render(); });
  new ResizeObserver(render).observe(byId("charts"));
  readColours();
  fillVariants();
}

begin();
