// A chart on its canvas. A scene is what all charts share: the window of time, what is switched on, the colours.

const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

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
  const sheet = { context, width, x, ...scene };
  paintGround(sheet, chart);
  for (const row of chart.rows) {
    row.lanes.forEach((lane, n) => paintLane(sheet, lane, row.top + n * row.lane, row.lane));
  }
  if (scene.dependencies) paintDependencies(sheet, chart);
  paintPointed(sheet, chart);
  paintFindings(sheet, chart);
}

function paintGround({ context, width, x, view, colours, overlap, pointer }, chart) {
  context.fillStyle = colours.row;
  for (const row of chart.rows) context.fillRect(0, row.top, width, row.height);
  if (overlap) paintOverlap({ context, x, view, colours }, chart);
  context.textAlign = "center";
  for (const { at, label } of ticks(view.start, view.end, width / 120)) {
    const half = context.measureText(label).width / 2;
    context.fillStyle = colours.line;
    context.fillRect(Math.round(x(at)), AXIS - 6, 1, chart.height - AXIS + 6);
    context.fillStyle = colours.quiet;
    context.fillText(label, Math.min(Math.max(x(at), half), width - half), AXIS / 2 - 2);
  }
  if (pointer !== null) {
    context.fillStyle = colours.quiet;
    context.fillRect(Math.round(x(pointer)), AXIS - 6, 1, chart.height - AXIS + 6);
  }
  context.textAlign = "left";
}

// Columns under the engines' rows; what is less than half a pixel apart is one.
function paintOverlap({ context, x, view, colours }, chart) {
  const [top, bottom] = chart.engines;
  context.fillStyle = colours.overlap;
  let [left, right] = [0, 0];
  for (const [start, end] of chart.overlap) {
    if (end < view.start || start > view.end) continue;
    if (x(start) - right > 0.5) {
      context.fillRect(left, top, right - left, bottom - top);
      left = x(start);
    }
    right = x(end);
  }
  context.fillRect(left, top, right - left, bottom - top);
}

function paintLane(sheet, lane, top, height) {
  const { context, width, x, view, colours } = sheet;
  // What is narrower than a pixel is gathered: a pixel is as strong as the time in it was busy.
  const crowd = { pixel: -1, busy: 0, colour: "" };
  const flush = () => {
    if (crowd.busy > 0) {
      context.globalAlpha = Math.min(1, 0.3 + 0.7 * crowd.busy);
      context.fillStyle = colours[crowd.colour];
      context.fillRect(crowd.pixel, top + 1, 1, height - 1);
      context.globalAlpha = 1;
    }
    crowd.busy = 0;
  };
  for (let i = firstAfter(lane, view.start); i < lane.length && lane[i].start <= view.end; i++) {
    const thing = lane[i];
    const left = Math.max(x(thing.start), -4);
    const right = Math.min(x(thing.end), width + 4);
    if (right - left < 1) {
      const pixel = Math.floor(left);
      if (pixel !== crowd.pixel || thing.colour !== crowd.colour) flush();
      Object.assign(crowd, { pixel, busy: crowd.busy + Math.max(right - left, 0.05), colour: thing.colour });
      continue;
    }
    flush();
    // Neighbours that touch stay apart to the eye.
    const wide = right - left - (right - left > 4 ? 1 : 0);
    context.fillStyle = colours[thing.colour];
    context.fillRect(left, top + 1, wide, height - 1);
    if (height >= 14 && wide > 20) {
      const begin = Math.max(left, 0) + 5;
      context.fillStyle = thing.engine ? colours.on : colours.ink;
      context.fillText(shortened(context, thing.name, Math.min(right, width) - begin - 5), begin, top + height / 2 + 1);
    }
  }
  flush();
}

const widths = new Map();

// The text, or as much of it as fits.
function shortened(context, text, room) {
  if (!widths.has(text)) widths.set(text, context.measureText(text).width);
  const wide = widths.get(text);
  if (wide <= room) return text;
  const letters = Math.floor((text.length * room) / wide) - 1;
  return letters < 3 ? "" : `${text.slice(0, letters).trimEnd()}…`;
}

// From the end of what was waited for to the start of what waited, in the streams' rows.
function paintDependencies(sheet, chart) {
  const { context, width, x, colours, pointed } = sheet;
  const [lines, heads] = [new Path2D(), new Path2D()];
  const [chosenLines, chosenHeads] = [new Path2D(), new Path2D()];
  let count = 0;
  for (const [from, to] of chart.dependencies) {
    const [a, b] = [chart.operations[from], chart.operations[to]];
    const [left, right] = [x(a.end), x(b.start)];
    if (Math.max(left, right) < 0 || Math.min(left, right) > width) continue;
    count += 1;
    const chosen = a === pointed || b === pointed;
    const [p, q] = [a.stands.at(-1), b.stands.at(-1)];
    const down = q.top >= p.top;
    const begin = down ? p.top + p.height : p.top + 1;
    const end = q.top === p.top ? q.top + 1 : down ? q.top + 1 : q.top + q.height;
    arrow(chosen ? chosenLines : lines, chosen ? chosenHeads : heads, left - 1, q.top === p.top ? p.top + 1 : begin, right + 1, end);
  }
  context.fillStyle = context.strokeStyle = colours.arrow;
  context.globalAlpha = pointed?.engine ? 0.3 : Math.min(0.85, Math.max(0.3, 60 / count));
  context.lineWidth = 1;
  context.stroke(lines);
  context.fill(heads);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.stroke(chosenLines);
  context.fill(chosenHeads);
}

function arrow(lines, heads, fromX, fromY, toX, toY) {
  const angle = Math.atan2(toY - fromY, toX - fromX || 0.01);
  const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
  lines.moveTo(fromX, fromY);
  lines.lineTo(toX - 4 * dx, toY - 4 * dy);
  heads.moveTo(toX, toY);
  heads.lineTo(toX - 6 * dx + 3 * dy, toY - 6 * dy - 3 * dx);
  heads.lineTo(toX - 6 * dx - 3 * dy, toY - 6 * dy + 3 * dx);
}

// A frame around the operations of a finding, and its number.
function paintFindings({ context, width, x, colours }, chart) {
  const flags = new Map();
  chart.findings.forEach((finding, n) => {
    for (const operation of new Set(finding.operations.map((index) => chart.operations[index]))) {
      const { top, height } = operation.stands.at(-1);
      const left = Math.max(x(operation.start), -8);
      const right = Math.min(Math.max(x(operation.end), x(operation.start) + 2), width + 8);
      if (right < 0 || left > width) continue;
      context.strokeStyle = context.fillStyle = colours.alarm;
      context.lineWidth = 2;
      context.strokeRect(left, top + 1, right - left, height - 1);
      // The numbers of one operation stand side by side, at its end if there is room, for at its beginning is its name.
      const before = flags.get(operation) ?? 0;
      flags.set(operation, before + 1);
      const first = Math.min(right, width) - 10 - 18 * (operation.findings.length - 1);
      const middle = Math.max(first, Math.max(left, 0) + 9) + 18 * before;
      context.beginPath();
      context.arc(middle, top + 1, 8, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = colours.paper;
      context.textAlign = "center";
      context.font = `bold 10px ${FONT.slice(5)}`;
      context.fillText(String(n + 1), middle, top + 2);
      context.font = FONT;
      context.textAlign = "left";
    }
  });
}

// What the pointer is on, or the keyboard's focus: framed wherever it stands, outside a finding's frame.
function paintPointed({ context, x, colours, pointed }, chart) {
  if (!pointed || !(chart.operations.includes(pointed) || chart.ranges.includes(pointed))) return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  for (const { top, height } of pointed.stands) {
    context.strokeRect(x(pointed.start) - 2, top - 1, Math.max(x(pointed.end) - x(pointed.start) + 3, 5), height + 3);
  }
}
