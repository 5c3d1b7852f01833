// The whole run in little, with the window that the charts show: to be dragged, or moved with the arrow keys.

const MAP = 44;

// How high the map is, and each chart's strip in it.
function mapSizes() {
  const charts = shown.filter(({ canvas }) => canvas);
  const strip = Math.max(2, Math.min(12, Math.floor(MAP / Math.max(charts.length, 1)) - 1));
  return { charts, strip, height: charts.length * (strip + 1) + 3 };
}

function paintMap() {
  const { charts, strip, height } = mapSizes();
  const map = byId("map");
  map.hidden = !charts.length;
  if (map.hidden) return;
  const canvas = byId("strips");
  canvas.style.height = `${height}px`;
  const width = canvas.clientWidth;
  const ratio = window.devicePixelRatio || 1;
  // Painting thousands of operations takes a while, and they change seldom.
  const looks = [width, height, ratio, colours.paper, state.own, view.first, view.last, ...charts.map(({ chart }) => chart.key)].join();
  if (canvas.dataset.looks !== looks) {
    canvas.dataset.looks = looks;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    charts.forEach(({ chart }, n) => paintStrip(context, chart, width, 2 + n * (strip + 1), strip));
  }
  placeWindow(width);
}

function paintStrip(context, chart, width, top, height) {
  const whole = { start: ownTime(chart, view.first), end: ownTime(chart, view.last) };
  const x = (at) => ((at - whole.start) / (whole.end - whole.start)) * width;
  const rows = chart.group("engines")?.rows ?? [];
  const each = height / Math.max(rows.length, 1);
  rows.forEach((row, n) => {
    // Whatever the number of its lanes, an engine is one line.
    for (const lane of row.lanes) paintLane({ context, width, x, view: whole, colours }, lane, top + n * each - 1, each + 1);
  });
}

function placeWindow(width) {
  const share = (at) => (at - view.first) / (view.last - view.first);
  const left = share(view.start) * width;
  Object.assign(byId("lens").style, { left: `${left}px`, width: `${Math.max(share(view.end) * width - left, 3)}px` });
  const map = byId("map");
  map.setAttribute("aria-valuenow", Math.round(50 * (share(view.start) + share(view.end))));
  map.setAttribute("aria-valuetext", byId("window").value);
}

function listenToMap() {
  const map = byId("map");
  const timeAt = (event) => {
    const box = byId("strips").getBoundingClientRect();
    return view.first + ((event.clientX - box.left) / box.width) * (view.last - view.first);
  };
  let grip = null;
  map.addEventListener("pointerdown", (event) => {
    const at = timeAt(event);
    const half = (view.end - view.start) / 2;
    if (at < view.start || at > view.end) show(at - half, at + half);
    grip = timeAt(event) - view.start;
    map.setPointerCapture(event.pointerId);
  });
  map.addEventListener("pointermove", (event) => {
    if (grip === null || !(event.buttons & 1)) return;
    const start = timeAt(event) - grip;
    show(start, start + view.end - view.start);
  });
  for (const name of ["pointerup", "pointercancel"]) map.addEventListener(name, () => { grip = null; });
  map.addEventListener("keydown", (event) => {
    const total = view.last - view.first;
    const acts = { ...moves(event), Home: () => pan(-total), End: () => pan(total) };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    acts[event.key]();
    event.preventDefault();
  });
}
