// What the reader does with pointer and keyboard.

// How far the pointer moves before it drags, in pixels.
const DRAGS = 4;

function listen(entry) {
  const { plot, canvas, chart } = entry;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return view.start + ((event.clientX - box.left) / box.width) * (view.end - view.start);
  };
  const thingAt = (event) => {
    const near = (3 / canvas.clientWidth) * (view.end - view.start);
    const y = event.clientY - canvas.getBoundingClientRect().top;
    const own = (by) => ownTime(chart, timeAt(event) + by);
    return chart.at(y, own(0), own(0)) ?? chart.at(y, own(-near), own(near));
  };
  plot.addEventListener("wheel", (event) => turn(event, canvas, timeAt(event)), { passive: false });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const measures = (byId("drag").value === "measure") !== event.shiftKey;
    entry.grip = { x: event.clientX, at: timeAt(event), measures, moved: false };
  });
  plot.addEventListener("pointermove", (event) => {
    if (entry.grip && event.buttons & 1) {
      drag(entry, event, timeAt(event));
      return;
    }
    pointer = timeAt(event);
    const thing = thingAt(event);
    if (thing) showTooltip(chart, thing, event.clientX, event.clientY);
    else hideTooltip();
    render();
  });
  plot.addEventListener("pointerup", (event) => {
    if (entry.grip && !entry.grip.moved) choose(thingAt(event));
  });
  for (const name of ["pointerup", "pointercancel"]) {
    plot.addEventListener(name, () => {
      entry.grip = null;
      plot.classList.remove("panning");
    });
  }
  plot.addEventListener("pointerleave", () => {
    pointer = null;
    if (!entry.at) hideTooltip();
    render();
  });
  plot.addEventListener("dblclick", (event) => {
    const thing = thingAt(event);
    if (thing) showThings(chart, [thing]);
  });
  plot.addEventListener("keydown", (event) => key(entry, event));
  plot.addEventListener("focus", () => { entry.leaving = false; });
  entry.focus.addEventListener("blur", () => leave(entry));
}

// The wheel zooms around a moment, or moves the window sideways.
function turn(event, canvas, at) {
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  // When there is nothing more to show, the page scrolls.
  if (!sideways && event.deltaY > 0 && view.end - view.start >= view.last - view.first) return;
  event.preventDefault();
  if (sideways) pan((event.deltaX || event.deltaY) / canvas.clientWidth);
  else zoom(1.0015 ** Math.max(-600, Math.min(600, event.deltaY)), at);
  hideTooltip();
}

// Moves the window, or selects from where the pointer went down to where it is.
function drag({ grip, plot, canvas }, event, at) {
  if (!grip.moved && Math.abs(event.clientX - grip.x) < DRAGS) return;
  grip.moved = true;
  plot.setPointerCapture(event.pointerId);
  hideTooltip();
  if (grip.measures) {
    select(grip.at, at);
    return;
  }
  plot.classList.add("panning");
  pan((grip.x - event.clientX) / canvas.clientWidth);
  grip.x = event.clientX;
}

// A click holds on to what it hits; beside everything it lets go.
function choose(thing) {
  state.pinned = thing && !thing.summary ? thing : null;
  if (!thing) state.selection = null;
  render();
}

// What keys do wherever time is shown.
function moves(event) {
  return {
    ArrowLeft: () => pan(event.shiftKey ? -0.5 : -0.1),
    ArrowRight: () => pan(event.shiftKey ? 0.5 : 0.1),
    "+": () => zoom(0.8),
    "=": () => zoom(0.8),
    "-": () => zoom(1.25),
    w: () => zoom(0.8),
    s: () => zoom(1.25),
    a: () => pan(-0.1),
    d: () => pan(0.1),
    0: showAll,
  };
}

function key(entry, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    ...moves(event),
    m: () => selectChosen(entry, false),
    M: () => selectChosen(entry, true),
    c: () => reachCall(entry),
    Enter: () => entry.at && showThings(entry.chart, [entry.at]),
    Escape: () => escape(entry),
    Tab: () => step(entry, event.shiftKey ? -1 : 1),
  };
  const act = acts[event.key];
  // At the last operation, and after Escape, Tab goes on to what follows the timeline.
  if (act && act() !== false) event.preventDefault();
}

// Selects the operation in focus, or what is shown; or makes the selection reach the operation too.
function selectChosen({ at, chart }, longer) {
  const own = at ? [at.start, at.end].map((moment) => commonTime(chart, moment)) : [view.start, view.end];
  const all = longer && state.selection ? [...own, ...state.selection] : own;
  select(Math.min(...all), Math.max(...all));
}

// From an operation to its call, and from a call to its operation.
function reachCall(entry) {
  const other = entry.at?.call ?? entry.at?.enqueued ?? entry.at?.releasedBy ?? (entry.at ? null : entry.chart.calls[0]);
  if (other) reach(entry, other);
}

function step(entry, direction) {
  if (!entry.at && (direction < 0 || entry.leaving)) return false;
  const { start, end } = windowOf(entry.chart);
  const next = entry.chart.next(entry.at, direction, start, end);
  if (next) reach(entry, next);
  else if (direction < 0) entry.plot.focus();
  else return false;
  return true;
}

function escape(entry) {
  const wasAt = entry.at;
  hideTooltip();
  entry.plot.focus();
  entry.leaving = true;
  if (!wasAt) choose(null);
}

// Gives the keyboard's focus to an operation or a call.
function reach(entry, thing) {
  entry.at = thing;
  entry.focus.hidden = false;
  const known = facts(thing).map(([what, value]) => `${what} ${value}`);
  const found = thing.findings.map((n) => `Finding ${n + 1}: ${entry.chart.findings[n].text}`);
  entry.focus.setAttribute("aria-label", [titleOf(thing), ...known, ...found].join(", "));
  placeFocus();
  entry.focus.focus({ preventScroll: true });
  entry.focus.scrollIntoView({ block: "nearest" });
  const box = entry.focus.getBoundingClientRect();
  showTooltip(entry.chart, thing, box.left + Math.min(box.width / 2, 60), box.bottom);
  render();
}

function leave(entry) {
  entry.at = null;
  entry.focus.hidden = true;
  hideTooltip();
  render();
}

// Puts the mark of the focus where its operation is now.
function placeFocus() {
  for (const { at, chart, focus, canvas } of shown) {
    if (!at) continue;
    const { start, end } = windowOf(chart);
    const scale = canvas.clientWidth / (end - start);
    const clamped = (x) => Math.min(Math.max(x, 0), canvas.clientWidth);
    const [left, right] = [clamped((at.start - start) * scale), clamped((at.end - start) * scale)];
    const { top, height } = at.stands.at(-1);
    Object.assign(focus.style, { left: `${left}px`, width: `${Math.max(right - left - 1, 2)}px`, top: `${top + 1}px`, height: `${height - 1}px` });
  }
}

function showTooltip(chart, thing, x, y) {
  pointed = thing;
  const list = element("dl");
  for (const [what, value] of facts(thing)) list.append(element("dt", { textContent: what }), element("dd", { textContent: value }));
  const found = thing.findings.map((n) => {
    const line = chart.findings[n].text.split("\n")[0];
    return element("p", { className: "alarm", textContent: `${n + 1}: ${line}` });
  });
  const tooltip = byId("tooltip");
  tooltip.replaceChildren(element("strong", { textContent: titleOf(thing) }), list, ...found);
  tooltip.hidden = false;
  // Beside the pointer, on whichever side there is room.
  const { width, height } = tooltip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
  const top = y + 16 + height > innerHeight - 8 ? y - 16 - height : y + 16;
  tooltip.style.left = `${Math.max(8, left)}px`;
  tooltip.style.top = `${Math.max(8, top)}px`;
}

function hideTooltip() {
  pointed = null;
  byId("tooltip").hidden = true;
}
