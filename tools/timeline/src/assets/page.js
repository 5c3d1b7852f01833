// The page: the charts of the chosen part, and what its controls do.

let data = null;

// Each chart that is shown: the recording, its canvas, its plot, and the mark of the keyboard's focus.
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
    "range", "call", "wait", "select", "arrow", "alarm"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function render() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const { chart, canvas } of shown) if (canvas) paint(chart, canvas, sceneOf(chart));
    byId("window").value = shown.some(({ canvas }) => canvas) ? windowText() : "";
    paintMap();
    placeFocus();
    writeMeasured();
    remember();
  });
}

// What a chart's painting depends on besides the chart.
function sceneOf(chart) {
  const on = Object.fromEntries(SWITCHES.map((name) => [name, byId(name).checked]));
  const at = pointer === null ? null : ownTime(chart, pointer);
  return { view: windowOf(chart), colours, chosen: pointed ?? state.pinned, pointer: at, selection: state.selection, ...on };
}

function windowText() {
  if (!state.own) return stretch(view.start, view.end);
  const share = (at) => ((100 * (at - view.first)) / (view.last - view.first)).toFixed(1);
  return `${share(view.start)} – ${share(view.end)} % of each run`;
}

// The figures of the chosen part, or the one that is chosen, each with its number in the part.
function chosenFigures() {
  const own = data.figures.filter((figure) => figure.part === byId("part").value);
  const variant = byId("variant").value;
  return own.map((figure, n) => ({ figure, n })).filter(({ n }) => variant === "all" || n === Number(variant));
}

function fill() {
  const figures = chosenFigures();
  byId("question").textContent = figures[0]?.figure.question ?? "";
  hideTooltip();
  state.pinned = null;
  shown = [];
  byId("charts").replaceChildren(...figures.map(figureSection));
  if (!figures.length) byId("charts").append(element("p", { textContent: "No timeline was recorded." }));
  view.first = shown.reduce((first, { chart }) => Math.min(first, chart.first), 0);
  view.last = shown.reduce((last, { chart }) => Math.max(last, chart.last), 1);
  const any = (which) => shown.some(({ chart }) => which(chart).length);
  byId("dependencies").disabled = !any((chart) => chart.dependencies);
  byId("overlap").disabled = !any((chart) => chart.overlap);
  byId("critical").disabled = !any((chart) => chart.critical);
  byId("calls").disabled = !any((chart) => chart.calls.filter((call) => call.enqueued));
  byId("own").disabled = shown.length < 2;
  for (const entry of shown) arrange(entry);
  legend();
  find();
  widenLabels();
  showRun();
}

function figureSection({ figure, n }) {
  const entries = figure.charts.map((chart, own) => ({ chart: new Chart(chart, `${n}.${own}`) }));
  shown.push(...entries);
  const made = element("section", { className: "figure" }, element("h2", { textContent: figure.variant }), ...entries.map(section));
  made.setAttribute("aria-label", figure.variant);
  return made;
}

function section(entry) {
  const { chart } = entry;
  const made = element("section", { className: "chart" },
    element("h3", { textContent: chart.label }),
    element("p", { className: "summary quiet", textContent: chart.summary }));
  made.setAttribute("aria-label", chart.label);
  if (!chart.operations.length) return made;
  entry.measure = element("p", { className: "measured" });
  entry.measure.setAttribute("aria-live", "polite");
  entry.labels = element("div", { className: "labels" });
  entry.canvas = element("canvas");
  entry.canvas.setAttribute("aria-hidden", "true");
  entry.focus = element("button", { type: "button", className: "operation", hidden: true });
  entry.plot = element("div", { className: "plot", tabIndex: 0 }, entry.canvas, entry.focus);
  entry.plot.setAttribute("role", "application");
  entry.plot.setAttribute("aria-label", `Timeline, ${chart.label}: ${chart.summary}`);
  entry.plot.setAttribute("aria-describedby", "keys");
  listen(entry);
  made.append(element("p", { className: "path quiet", textContent: chart.path }), entry.measure,
    element("div", { className: "frame" }, entry.labels, entry.plot));
  if (chart.findings.length) made.append(findings(chart));
  if (chart.gaps) made.append(gaps(chart));
  return made;
}

// Puts rows and labels where they belong.
function arrange(entry) {
  const { chart, labels, canvas } = entry;
  if (!canvas) return;
  chart.layOut();
  canvas.style.height = `${chart.height}px`;
  labels.replaceChildren(...chart.groups.map((group) => heading(entry, group)),
    ...chart.rows.map((row) => label(row.name, row.top + row.height / 2)));
}

// The heading of a group of rows: a button that makes one row of them, and many again.
function heading(entry, group) {
  const made = element("button", { type: "button", className: "group", textContent: group.title });
  made.style.top = `${group.top - 10}px`;
  made.setAttribute("aria-expanded", String(!group.folded));
  made.title = group.folded ? `Show the ${group.rows.length} rows` : "Show one row for all of these";
  made.onclick = () => {
    const opens = group.folded;
    (opens ? state.open : state.shut).add(group.key);
    (opens ? state.shut : state.open).delete(group.key);
    arrange(entry);
    const again = entry.labels.querySelectorAll("button")[entry.chart.groups.indexOf(group)];
    again.focus();
    render();
  };
  return made;
}

function label(text, y) {
  const made = element("span", { textContent: middleShortened(text, 26), title: text });
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

// The labels' column is as wide as the longest name, and never more than a part of the page.
function widenLabels() {
  const names = shown.flatMap(({ chart }) => chart.rows.map((row) => row.name.length));
  const most = Math.min(230, innerWidth * 0.3);
  const wide = Math.min(Math.max(84, ...names.map((long) => long * 8 + 14)), most);
  document.body.style.setProperty("--labels", `${wide}px`);
}

// Marks what is searched, and says how much there is.
function find() {
  state.find = byId("find").value.trim();
  for (const { chart } of shown) chart.search(state.find);
  const count = shown.reduce((sum, { chart }) => sum + (chart.found?.size ?? 0), 0);
  byId("found").value = state.find ? `${count} found` : "";
  render();
}

// Goes to the next thing that was found, or to the one before.
function findNext(direction) {
  const all = shown.flatMap((entry) => [...entry.chart.found ?? []].map((thing) => ({ entry, thing })));
  if (!all.length) return;
  const now = all.findIndex(({ thing }) => thing === state.pinned);
  const { entry, thing } = all.at(now < 0 ? (direction < 0 ? -1 : 0) : (now + direction) % all.length);
  state.pinned = thing;
  const { start, end } = windowOf(entry.chart);
  if (thing.start < start || thing.end > end) showThings(entry.chart, [thing]);
  entry.plot.scrollIntoView({ block: "nearest" });
  render();
}

// The variants of the chosen part; of several, all are shown unless one is wanted.
function fillVariants(wanted) {
  const own = data.figures.filter((figure) => figure.part === byId("part").value);
  const options = own.map((figure, n) => element("option", { value: n, textContent: figure.variant }));
  const all = element("option", { value: "all", textContent: `all (${own.length})` });
  byId("variant").replaceChildren(...(own.length > 1 ? [all] : []), ...options);
  const place = own.findIndex((figure) => figure.variant === wanted);
  if (place >= 0) byId("variant").value = place;
  fill();
}

// Another part or variant: what was opened, shut and selected was of the one before.
function changePart() {
  for (const own of [state.open, state.shut]) own.clear();
  state.selection = null;
  fillVariants();
}

function listenToControls() {
  byId("part").onchange = changePart;
  byId("variant").onchange = fill;
  byId("closer").onclick = () => zoom(0.5);
  byId("wider").onclick = () => zoom(2);
  byId("whole").onclick = showAll;
  for (const name of SWITCHES) byId(name).onchange = render;
  byId("own").onchange = () => {
    state.own = byId("own").checked;
    render();
  };
  byId("find").oninput = find;
  byId("find").onkeydown = (event) => {
    if (event.key === "Enter") findNext(event.shiftKey ? -1 : 1);
  };
  byId("to-selection").onclick = () => show(...state.selection);
  byId("deselect").onclick = deselect;
  byId("controls").onsubmit = (event) => event.preventDefault();
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    const act = event.key === "/" ? () => byId("find").focus() : moves(event)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function begin() {
  byId("notes").textContent = data.notes.join("\n");
  const parts = [...new Set(data.figures.map((figure) => figure.part))];
  byId("part").replaceChildren(...parts.map((part) => element("option", { value: part, textContent: part })));
  // A finger cannot hold Shift, and moving is what it does most.
  if (matchMedia("(pointer: coarse)").matches) byId("drag").value = "pan";
  listenToControls();
  listenToMap();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); render(); });
  new ResizeObserver(() => { widenLabels(); render(); }).observe(byId("charts"));
  readColours();
  recall();
  addEventListener("hashchange", () => { if (location.hash !== written) recall(); });
}

// Small data is text.
if (byId("data").type === "application/json") {
  data = JSON.parse(byId("data").textContent);
  begin();
} else {
  unpacked(byId("data")).then((large) => {
    data = large;
    begin();
  });
}
