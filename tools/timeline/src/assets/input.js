// What the reader does with pointer and keyboard.

function listen(entry) {
  const { plot, canvas, chart } = entry;
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return view.start + ((event.clientX - box.left) / box.width) * (view.end - view.start);
  };
  const thingAt = (event) => {
    const near = (3 / canvas.clientWidth) * (view.end - view.start);
    const y = event.clientY - canvas.getBoundingClientRect().top;
    return chart.at(y, timeAt(event), timeAt(event)) ?? chart.at(y, timeAt(event) - near, timeAt(event) + near);
  };
  plot.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    // When there is nothing more to show, the page scrolls.
    if (!sideways && event.deltaY > 0 && view.end - view.start >= view.total) return;
    event.preventDefault();
    if (sideways) pan((event.deltaX || event.deltaY) / canvas.clientWidth);
    else zoom(1.0015 ** Math.max(-600, Math.min(600, event.deltaY)), timeAt(event));
    hideTooltip();
  }, { passive: false });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button === 0) entry.grip = event.clientX;
  });
  plot.addEventListener("pointermove", (event) => {
    if (entry.grip !== undefined && event.buttons & 1) {
      plot.setPointerCapture(event.pointerId);
      plot.classList.add("panning");
      pan((entry.grip - event.clientX) / canvas.clientWidth);
      entry.grip = event.clientX;
      hideTooltip();
      return;
    }
    pointer = timeAt(event);
    const thing = thingAt(event);
    if (thing) showTooltip(chart, thing, event.clientX, event.clientY);
    else hideTooltip();
    render();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    plot.addEventListener(name, () => {
      entry.grip = undefined;
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
    if (thing) showThing([thing]);
  });
  plot.addEventListener("keydown", (event) => key(entry, event));
  plot.addEventListener("focus", () => { entry.leaving = false; });
  entry.focus.addEventListener("blur", () => leave(entry));
}

function key(entry, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    ArrowLeft: () => pan(event.shiftKey ? -0.5 : -0.1),
    ArrowRight: () => pan(event.shiftKey ? 0.5 : 0.1),
    "+": () => zoom(0.8),
    "=": () => zoom(0.8),
    "-": () => zoom(1.25),
    0: () => show(0, view.total),
    Enter: () => entry.at && showThing([entry.at]),
    Escape: () => escape(entry),
    Tab: () => step(entry, event.shiftKey ? -1 : 1),
  };
  const act = acts[event.key];
  // At the last operation, and after Escape, Tab goes on to what follows the timeline.
  if (act && act() !== false) event.preventDefault();
}

function step(entry, direction) {
  if (!entry.at && (direction < 0 || entry.leaving)) return false;
  const next = entry.chart.next(entry.at, direction, view.start, view.end);
  if (next) reach(entry, next);
  else if (direction < 0) entry.plot.focus();
  else return false;
  return true;
}

function escape(entry) {
  hideTooltip();
  entry.plot.focus();
  entry.leaving = true;
}

// Gives the keyboard's focus to an operation.
function reach(entry, operation) {
  entry.at = operation;
  entry.focus.hidden = false;
  const known = facts(operation).map(([what, value]) => `${what} ${value}`);
  const found = operation.findings.map((n) => `Finding ${n + 1}: ${entry.chart.findings[n].text}`);
  entry.focus.setAttribute("aria-label", [operation.name, ...known, ...found].join(", "));
  placeFocus();
  entry.focus.focus({ preventScroll: true });
  entry.focus.scrollIntoView({ block: "nearest" });
  const box = entry.focus.getBoundingClientRect();
  showTooltip(entry.chart, operation, box.left + Math.min(box.width / 2, 60), box.bottom);
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
  for (const { at, focus, canvas } of shown) {
    if (!at) continue;
    const scale = canvas.clientWidth / (view.end - view.start);
    const clamped = (x) => Math.min(Math.max(x, 0), canvas.clientWidth);
    const [left, right] = [clamped((at.start - view.start) * scale), clamped((at.end - view.start) * scale)];
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
  tooltip.replaceChildren(element("strong", { textContent: thing.name }), list, ...found);
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
