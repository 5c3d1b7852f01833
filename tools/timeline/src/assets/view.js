// What is shown and how: kept in the address after the #, so that a link or a reload shows the same.

const byId = (id) => document.getElementById(id);
const SWITCHES = ["overlap", "dependencies", "calls", "critical"];
const NARROWEST = 20;

// The window of time that all charts share, within first and last.
const view = { start: 0, end: 1, first: 0, last: 1 };
// Groups that the reader opened and shut, the selection, the search, and what was clicked.
const state = { open: new Set(), shut: new Set(), selection: null, find: "", own: false, pinned: null };

// The window of one chart: the common one, or the same share of its own run.
function windowOf(chart) {
  return { start: ownTime(chart, view.start), end: ownTime(chart, view.end) };
}

function ownTime(chart, at) {
  if (!state.own) return at;
  return chart.first + ((at - view.first) / (view.last - view.first)) * (chart.last - chart.first);
}

function commonTime(chart, at) {
  if (!state.own) return at;
  return view.first + ((at - chart.first) / Math.max(chart.last - chart.first, 1)) * (view.last - view.first);
}

// Shows the time between two moments, as far as there is any.
function show(start, end) {
  const total = view.last - view.first;
  const long = Math.min(Math.max(end - start, Math.min(NARROWEST, total)), total);
  view.start = Math.min(Math.max(start, view.first), view.last - long);
  view.end = view.start + long;
  render();
}

function showAll() {
  show(view.first, view.last);
}

// What the device did, with a little of what the host did before: it may have enqueued everything long before.
function showRun() {
  show(Math.max(view.first, -view.last / 4), view.last);
}

function zoom(factor, at = (view.start + view.end) / 2) {
  show(at - (at - view.start) * factor, at + (view.end - at) * factor);
}

function pan(share) {
  const by = (view.end - view.start) * share;
  show(view.start + by, view.end + by);
}

function showThings(chart, things) {
  const start = commonTime(chart, Math.min(...things.map((thing) => thing.start)));
  const end = commonTime(chart, Math.max(...things.map((thing) => thing.end)));
  const around = Math.max((end - start) * 0.25, NARROWEST / 2);
  show(Math.max(start - around, view.first), Math.min(end + around, view.last));
}

let written = "";
let writing = 0;

// The address is written when things have come to rest: browsers allow some changes a second.
function remember() {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const hash = `#${address()}`;
    if (hash === written) return;
    written = hash;
    history.replaceState(null, "", hash);
  }, 120);
}

function address() {
  const words = new URLSearchParams();
  const put = (name, value) => value && words.set(name, value);
  put("part", byId("part").value);
  put("variant", byId("variant").value === "all" ? "" : byId("variant").selectedOptions[0]?.textContent);
  const all = view.start <= view.first && view.end >= view.last;
  put("time", all ? "" : `${Math.round(view.start)}..${Math.round(view.end)}`);
  put("select", state.selection?.join(".."));
  put("find", state.find);
  put("scale", state.own ? "own" : "");
  put("off", SWITCHES.filter((name) => !byId(name).checked).join(" "));
  put("open", [...state.open].join(" "));
  put("shut", [...state.shut].join(" "));
  return words.toString();
}

// Takes up what the address says; what it does not say is as at the beginning.
function recall() {
  written = location.hash;
  const words = new URLSearchParams(location.hash.slice(1));
  const list = (name) => (words.get(name) ?? "").split(" ").filter(Boolean);
  const times = (name) => {
    const pair = (words.get(name) ?? "").split("..").map(Number);
    return pair.length === 2 && pair.every(Number.isFinite) && pair[0] < pair[1] ? pair : null;
  };
  state.open = new Set(list("open"));
  state.shut = new Set(list("shut"));
  state.find = byId("find").value = words.get("find") ?? "";
  state.selection = null;
  state.own = byId("own").checked = words.get("scale") === "own";
  for (const name of SWITCHES) byId(name).checked = !list("off").includes(name);
  const parts = [...byId("part").options].map((option) => option.value);
  byId("part").value = parts.includes(words.get("part")) ? words.get("part") : parts[0] ?? "";
  fillVariants(words.get("variant"));
  const [window, selection] = [times("time"), times("select")];
  if (window) show(...window);
  if (selection) select(...selection);
}
