// A chart on its canvas. A scene is what all charts share: the window of time, what is switched on, the colours.

const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
// How strong what the reader does not search for is.
const FAINT = 0.15;

function paint(chart, canvas, scene) {
  const width = canvas.clientWidth;
  // No browser paints a canvas higher than this.
  const ratio = Math.min(window.devicePixelRatio || 1, 16000 / chart.height);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(chart.height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(chart.height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, chart.height);
  context.font = FONT;
  context.textBaseline = "middle";
  const { start, end } = scene.view;
  const x = (at) => ((at - start) / (end - start)) * width;
  const sheet = { context, width, x, found: chart.found, ...scene };
  paintGround(sheet, chart);
  if (scene.overlap) paintSpans(sheet, chart.overlap, chart.group("engines"), colours.overlap);
  paintBarriers(sheet, chart);
  paintGrid(sheet, chart);
  for (const row of chart.rows) {
    if (row.kind === "summary") paintSummary(sheet, row);
    row.lanes.forEach((lane, n) => paintLane(sheet, lane, row.top + n * row.lane, row.lane));
  }
  paintMarks(sheet, chart);
}

function paintGround({ context, width, colours }, chart) {
  context.fillStyle = colours.row;
  for (const row of chart.rows) context.fillRect(0, row.top, width, row.height);
}

function paintGrid(sheet, chart) {
  const { context, width, x, view, colours, pointer } = sheet;
  const taken = [boundSign(sheet, chart), selectionSign(sheet, chart)].filter(Boolean);
  context.textAlign = "center";
  for (const { at, label } of ticks(view.start, view.end, width / 120)) {
    const half = context.measureText(label).width / 2;
    context.fillStyle = colours.line;
    context.fillRect(Math.round(x(at)), AXIS - 6, 1, chart.height - AXIS + 6);
    context.fillStyle = colours.quiet;
    const middle = Math.min(Math.max(x(at), half), width - half);
    const free = taken.every(({ left, wide }) => middle + half < left - 2 || middle - half > left + wide + 2);
    if (free) context.fillText(label, middle, AXIS / 2 - 2);
  }
  if (pointer !== null) {
    context.fillStyle = colours.quiet;
    context.fillRect(Math.round(x(pointer)), AXIS - 6, 1, chart.height - AXIS + 6);
  }
  context.textAlign = "left";
}

// Columns under the rows of a group; what is less than half a pixel apart is one.
function paintSpans({ context, x, view }, spans, group, style) {
  if (!group) return;
  const height = group.bottom - group.top;
  context.fillStyle = style;
  let [left, right] = [0, 0];
  for (const [start, end] of spans) {
    if (end < view.start || start > view.end) continue;
    if (x(start) - right > 0.5) {
      context.fillRect(left, group.top, right - left, height);
      left = x(start);
    }
    right = x(end);
  }
  context.fillRect(left, group.top, right - left, height);
}

// How many rows of a folded group are busy, as a profile.
function paintSummary({ context, width, x, view, colours }, row) {
  const bottom = row.top + row.height;
  context.fillStyle = colours.quiet;
  let [pixel, most] = [-1, 0];
  const bar = (left, wide, count) => {
    const high = Math.max(1, (count / row.most) * (row.height - 2));
    context.fillRect(left, bottom - high, wide, high);
  };
  for (let i = firstAfter(row.steps, view.start); i < row.steps.length && row.steps[i].start <= view.end; i++) {
    const { start, end, count } = row.steps[i];
    // At whole pixels, so that neighbours leave no gap.
    const [left, right] = [Math.round(Math.max(x(start), -1)), Math.round(Math.min(x(end), width + 1))];
    if (right > left) {
      bar(left, right - left, count);
      continue;
    }
    // The highest of the steps within a pixel is painted.
    if (left !== pixel) {
      if (most) bar(pixel, 1, most);
      most = 0;
    }
    pixel = left;
    most = Math.max(most, count);
  }
  if (most) bar(pixel, 1, most);
}

function paintLane(sheet, lane, top, height) {
  const { context, width, x, view, colours, found } = sheet;
  // What is narrower than a pixel is gathered: a pixel is as strong as the time in it was busy.
  const crowd = { pixel: -1, busy: 0, colour: "", strength: 1 };
  const flush = () => {
    if (crowd.busy > 0) {
      context.globalAlpha = Math.min(1, 0.3 + 0.7 * crowd.busy) * crowd.strength;
      context.fillStyle = colours[crowd.colour];
      context.fillRect(crowd.pixel, top + 1, 1, height - 1);
      context.globalAlpha = 1;
    }
    crowd.busy = 0;
  };
  for (let i = firstAfter(lane, view.start); i < lane.length && lane[i].start <= view.end; i++) {
    const thing = lane[i];
    const strength = found && !found.has(thing) ? FAINT : 1;
    const left = Math.max(x(thing.start), -4);
    const right = Math.min(x(thing.end), width + 4);
    if (right - left < 1) {
      const pixel = Math.floor(left);
      if (pixel !== crowd.pixel || thing.colour !== crowd.colour || strength !== crowd.strength) flush();
      Object.assign(crowd, { pixel, busy: crowd.busy + Math.max(right - left, 0.05), colour: thing.colour, strength });
      continue;
    }
    flush();
    // Neighbours that touch stay apart to the eye.
    const wide = right - left - (right - left > 4 ? 1 : 0);
    context.globalAlpha = strength;
    context.fillStyle = colours[thing.colour];
    context.fillRect(left, top + 1, wide, height - 1);
    if (height >= 14 && wide > 8) paintText(sheet, thing, Math.max(left, 0), Math.min(right, width), top + height / 2 + 1);
    context.globalAlpha = 1;
  }
  flush();
}

// The name and the number, or less: part of the name if that still tells something, else the number alone.
function paintText({ context, colours }, thing, left, right, middle) {
  const room = right - left - 8;
  const { name } = thing;
  const number = thing.number ? String(thing.number) : "";
  const some = number ? shortened(context, name, room - widthOf(context, ` ${number}`), 7) : shortened(context, name, room, 4);
  const candidates = [`${name} ${number}`.trimEnd(), some && `${some} ${number}`.trimEnd(), number];
  const text = candidates.find((text) => text && widthOf(context, text) <= room + (text === number ? 4 : 0));
  if (!text) return;
  context.fillStyle = thing.engine || thing.colour === "call" ? colours.on : colours.ink;
  const begin = text === number ? (left + right - widthOf(context, text)) / 2 - 0.5 : left + 5;
  context.fillText(text, begin, middle);
}

const widths = new Map();

function widthOf(context, text) {
  if (!widths.has(text)) widths.set(text, context.measureText(text).width);
  return widths.get(text);
}

// The text, or as much of it as fits; nothing when fewer letters fit than the minimum.
function shortened(context, text, room, least) {
  const wide = widthOf(context, text);
  if (wide <= room) return text;
  const letters = Math.floor((text.length * (room - widthOf(context, "…"))) / wide);
  return letters < least ? "" : `${text.slice(0, letters).trimEnd()}…`;
}
