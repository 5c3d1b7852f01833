// One recording: where things stand, and what is at a place.

const AXIS = 26;
const HEADING = 22;
const GAP = 4;
const LANE = 20;
// What the lanes of one row may take together before they get thinner, and how thin that may be.
const LANES = 80;
const THINNEST = 3;

class Chart {
  constructor(data) {
    this.label = data.label;
    this.summary = data.summary;
    this.overlap = data.overlap;
    this.dependencies = data.dependencies;
    this.findings = data.findings;
    this.operations = data.operations.map(([name, stream, engine, colour, start, end, bytes]) => ({
      name, stream, engine, colour, start, end, bytes, waitsFor: [], findings: [], stands: [],
    }));
    this.ranges = data.ranges.map(([name, thread, start, end]) => ({
      name, thread, colour: "range", start, end, findings: [], stands: [],
    }));
    for (const [from, to] of this.dependencies) this.operations[to].waitsFor.push(this.operations[from]);
    this.findings.forEach((finding, n) => {
      for (const index of new Set(finding.operations)) this.operations[index].findings.push(n);
    });
    this.end = this.operations.reduce((latest, operation) => Math.max(latest, operation.end), 0);
    this.standRows(data.rows);
  }

  // Rows from the top; each thing learns where it stands, an operation in its stream's row last.
  standRows(rows) {
    let y = AXIS;
    let kind = null;
    this.rows = rows.map((row) => {
      const heading = row.kind === kind ? null : row.kind;
      kind = row.kind;
      if (heading) y += HEADING;
      const lane = Math.min(LANE, Math.max(THINNEST, LANES / row.lanes.length));
      const things = row.kind === "host" ? this.ranges : this.operations;
      const own = { kind, heading, name: row.name, top: y, lane, height: lane * row.lanes.length };
      own.lanes = row.lanes.map((lane) => lane.map((index) => things[index]));
      own.lanes.forEach((lane, n) => {
        for (const thing of lane) thing.stands.push({ top: own.top + n * own.lane, height: own.lane });
      });
      y += own.height + GAP;
      return own;
    });
    this.height = y + 2;
  }

  // Where the engines' rows begin and end.
  get engines() {
    const rows = this.rows.filter((row) => row.kind === "engine");
    return rows.length ? [rows[0].top, rows.at(-1).top + rows.at(-1).height] : [0, 0];
  }

  // What is at a height between two times.
  at(y, start, end) {
    const row = this.rows.find((row) => y >= row.top && y < row.top + row.height);
    if (!row) return null;
    const lane = row.lanes[Math.floor((y - row.top) / row.lane)];
    const thing = lane?.[firstAfter(lane, start)];
    return thing && thing.start <= end ? thing : null;
  }

  // The next operation in order of the starts that is between two times, after or before another.
  next(from, step, start, end) {
    let i = from ? this.operations.indexOf(from) + step : 0;
    for (; i >= 0 && i < this.operations.length; i += step) {
      const operation = this.operations[i];
      if (operation.end >= start && operation.start <= end) return operation;
    }
    return null;
  }
}

// The first thing of a lane that ends after the time; the things of a lane are disjoint and in order.
function firstAfter(lane, at) {
  let [low, high] = [0, lane.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].end > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

// All that is known of a thing: its name, then pairs of what and how much.
function facts(thing) {
  const long = thing.end - thing.start;
  const facts = thing.engine ? [["Engine", thing.engine], ["Stream", thing.stream]] : [["Host thread", thing.thread]];
  facts.push(["Start", moment(thing.start)], ["Duration", time(long)]);
  if (thing.bytes > 0) facts.push(["Bytes", bytes(thing.bytes)]);
  if (thing.bytes > 0 && long > 0) facts.push(["Bandwidth", bandwidth(thing.bytes, long)]);
  const names = (thing.waitsFor ?? []).slice(0, 4).map((other) => `${other.name} (${other.stream})`);
  if (names.length) facts.push(["Waited for", names.join(", ") + (thing.waitsFor.length > 4 ? " …" : "")]);
  return facts;
}
