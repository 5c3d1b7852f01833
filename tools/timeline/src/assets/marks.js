// What is marked in a chart, above its bars: arrows, the critical path, the bound, findings, the selection, what is pointed at.

function paintMarks(sheet, chart) {
  const near = related(sheet.chosen);
  if (sheet.critical) paintCritical(sheet, chart);
  const { enqueued, waited } = chart.pairs;
  paintArrows(sheet, enqueued, { shown: sheet.calls, colour: sheet.colours.call, fromStart: true });
  paintArrows(sheet, waited, { shown: sheet.dependencies, colour: sheet.colours.arrow });
  paintRelated(sheet, chart, near);
  paintChosen(sheet, chart);
  paintFindings(sheet, chart);
  paintBound(sheet, chart);
  paintSelection(sheet, chart);
}

// From one thing to another, in the last row in which each stands. Those of what is pointed at are strong, even where the
// others are switched off. Two things within one folded row need none. Arrows between the same pixels are one: of a hundred thousand, a
// few thousand are left, and the others would be under them.
function paintArrows({ context, width, x, chosen }, pairs, { shown, colour, fromStart }) {
  const [lines, heads] = [new Path2D(), new Path2D()];
  const [chosenLines, chosenHeads] = [new Path2D(), new Path2D()];
  let count = 0;
  const painted = new Set();
  for (const [a, b] of pairs) {
    const strong = a === chosen || b === chosen;
    if (!shown && !strong) continue;
    const [left, right] = [x(fromStart ? a.start : a.end), x(b.start)];
    if (Math.max(left, right) < 0 || Math.min(left, right) > width) continue;
    const [p, q] = [a.stands.at(-1), b.stands.at(-1)];
    if (!p || !q || (p.folded && q.folded && p.top === q.top)) continue;
    const place = placeOf(left, right, p.top, q.top);
    if (!strong && painted.has(place)) continue;
    painted.add(place);
    count += 1;
    const down = q.top >= p.top;
    const level = q.top === p.top;
    const begin = level || !down ? p.top + 1 : p.top + p.height;
    const end = level || down ? q.top + 1 : q.top + q.height;
    arrow(strong ? chosenLines : lines, strong ? chosenHeads : heads, left + (fromStart ? 1 : -1), begin, right + 1, end);
  }
  context.fillStyle = context.strokeStyle = colour;
  context.globalAlpha = chosen ? 0.25 : Math.min(0.85, Math.max(0.2, 60 / count));
  context.lineWidth = 1;
  context.stroke(lines);
  context.fill(heads);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.stroke(chosenLines);
  context.fill(chosenHeads);
}

// A number for the pixels between which a line goes, at most 53 bits of it.
function placeOf(fromX, toX, fromY, toY) {
  const bits = (at, most) => Math.min(Math.max(Math.round(at) + 8, 0), most - 1);
  return ((bits(fromX, 8192) * 8192 + bits(toX, 8192)) * 8192 + bits(fromY, 8192)) * 8192 + bits(toY, 8192);
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

// A thick line along the lower edge of the path's operations, and from the end of each to the start of the next.
function paintCritical({ context, width, x, colours }, chart) {
  const line = new Path2D();
  let from = null;
  const painted = new Set();
  for (const operation of chart.critical) {
    const stand = operation.stands.at(-1);
    const [left, right] = [x(operation.start), x(operation.end)];
    const y = stand.top + stand.height - 1.5;
    const near = Math.max(right, from?.[0] ?? right) >= 0 && Math.min(left, from?.[0] ?? left) <= width;
    // What is narrower than a pixel is painted once in each pixel and row.
    const place = right - left < 1 ? placeOf(left, from?.[0] ?? left, y, from?.[1] ?? y) : null;
    if (near && !painted.has(place)) {
      if (place !== null) painted.add(place);
      if (from) line.moveTo(...from);
      else line.moveTo(left, y);
      line.lineTo(left, y);
      line.lineTo(Math.max(right - 1, left), y);
    }
    from = [Math.max(right - 1, left), y];
  }
  context.strokeStyle = colours.ink;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.stroke(line);
}

// Stripes in the streams' rows while the legacy stream runs.
function paintBarriers(sheet, chart) {
  if (!chart.barriers.length) return;
  const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
  const pen = tile.getContext("2d");
  pen.strokeStyle = sheet.colours.quiet;
  pen.globalAlpha = 0.6;
  for (const by of [-8, 0, 8]) {
    pen.moveTo(by - 1, 9);
    pen.lineTo(by + 9, -1);
  }
  pen.stroke();
  paintSpans(sheet, chart.barriers, chart.group("streams"), sheet.context.createPattern(tile, "repeat"));
}

// A sign at the axis: its text around a place, as far as there is room.
function signAt({ context, width }, text, at) {
  const wide = widthOf(context, text) + 8;
  return { text, wide, left: Math.min(Math.max(at - wide / 2, 0), width - wide) };
}

function paintSign({ context, colours }, { text, left, wide }, colour) {
  context.fillStyle = colour;
  context.fillRect(left, 1, wide, 18);
  context.fillStyle = colours.paper;
  context.fillText(text, left + 4, 10.5);
}

// The sign of the bound, if there is one in the window.
function boundSign(sheet, chart) {
  const at = sheet.x(chart.bound);
  return chart.bound === null || at < 0 || at > sheet.width ? null : signAt(sheet, `bound ${time(chart.bound)}`, at);
}

// The shortest possible time as a line, with its name at the axis.
function paintBound(sheet, chart) {
  const sign = boundSign(sheet, chart);
  if (!sign) return;
  const { context, x, colours } = sheet;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  context.beginPath();
  context.moveTo(x(chart.bound), AXIS - 6);
  context.lineTo(x(chart.bound), chart.height);
  context.stroke();
  context.setLineDash([]);
  paintSign(sheet, sign, colours.ink);
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

function frameAround({ context, x }, thing) {
  for (const { top, height } of thing.stands.filter((stand) => !stand.folded)) {
    context.strokeRect(x(thing.start) - 2, top - 1, Math.max(x(thing.end) - x(thing.start) + 3, 5), height + 3);
  }
}

// What the pointer is on, or the keyboard's focus, or what was clicked: framed wherever it stands, outside a finding's frame.
function paintChosen(sheet, chart) {
  const { context, colours, chosen } = sheet;
  if (!chosen || ![chart.operations, chart.ranges, chart.calls].some((things) => things.includes(chosen))) return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  frameAround(sheet, chosen);
}

// What has to do with it has a dotted frame.
function paintRelated(sheet, chart, near) {
  const { context, colours } = sheet;
  context.strokeStyle = colours.ink;
  context.lineWidth = 2;
  context.setLineDash([2, 2]);
  for (const thing of near) if (chart.operations.includes(thing) || chart.calls.includes(thing)) frameAround(sheet, thing);
  context.setLineDash([]);
}

// Where the selection begins and ends on the canvas, if any of it is in the window.
function selectionEdges({ width, x, selection }, chart) {
  if (!selection) return null;
  const [left, right] = selection.map((at) => x(ownTime(chart, at)));
  return right < 0 || left > width ? null : [Math.max(left, -2), Math.min(right, width + 2)];
}

function selectionSign(sheet, chart) {
  const edges = selectionEdges(sheet, chart);
  if (!edges) return null;
  const [start, end] = sheet.selection.map((at) => ownTime(chart, at));
  return signAt(sheet, time(end - start), (edges[0] + edges[1]) / 2);
}

// The selected time, over all rows, with its length at the axis.
function paintSelection(sheet, chart) {
  const edges = selectionEdges(sheet, chart);
  if (!edges) return;
  const { context, colours } = sheet;
  const box = [edges[0], AXIS - 6, edges[1] - edges[0], chart.height];
  context.fillStyle = context.strokeStyle = colours.select;
  context.globalAlpha = 0.14;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.strokeRect(...box);
  paintSign(sheet, selectionSign(sheet, chart), colours.select);
}
