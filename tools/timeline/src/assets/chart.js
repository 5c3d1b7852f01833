// One recording: where things stand, what belongs together, and what is at a place.

const AXIS = 26;
const HEADING = 24;
const GAP = 4;
const LANE = 20;
// What the lanes of one row may take together before they get thinner, and how thin that may be.
const LANES = 80;
const THINNEST = 3;
// A group of more rows than this is one summary row until the reader opens it.
const MANY_ROWS = 12;
const SUMMARY = 36;
const GROUPS = { engine: "engines", stream: "streams", phases: "host", calls: "host" };

class Chart {
  constructor(data, key) {
    Object.assign(this, {
      key, label: data.label, summary: data.summary, path: data.path, bound: data.bound, overlap: data.overlap, barriers: data.barriers,
      dependencies: data.dependencies, findings: data.findings, gaps: data.gaps, groups: [], rows: [], height: 0, found: null,
    });
    this.makeThings(data);
    this.relate(data);
    for (const row of data.rows) this.addRow(row);
    this.end = this.operations.reduce((latest, operation) => Math.max(latest, operation.end), 0);
    // The host begins before the device, and what it waits for last returns after it.
    const calls = this.calls.filter((call) => call.start <= this.end);
    const enqueuing = calls.filter((call) => call.enqueued);
    this.first = enqueuing.reduce((first, call) => Math.min(first, call.start), 0);
    this.last = calls.reduce((last, call) => Math.max(last, call.end), this.end);
  }

  makeThings(data) {
    const thing = (own) => ({ findings: [], stands: [], ...own });
    this.operations = data.operations.map(([name, stream, engine, colour, start, end, bytes, number]) => thing({
      name, stream, engine, colour, start, end, bytes, number, waitsFor: [], waiters: [], call: null, before: null, why: "",
    }));
    this.ranges = data.ranges.map(([name, thread, start, end]) => thing({ name, thread, colour: "range", start, end }));
    this.calls = data.calls.map(({ name, thread, start, end, stream, waits }) => thing({
      name, thread, start, end, target: stream, waits, colour: waits ? "wait" : "call", enqueued: null, releasedBy: null,
    }));
  }

  relate(data) {
    for (const [from, to] of data.dependencies) {
      this.operations[to].waitsFor.push(this.operations[from]);
      this.operations[from].waiters.push(this.operations[to]);
    }
    this.calls.forEach((call, n) => {
      call.enqueued = this.operations[data.calls[n].enqueued] ?? null;
      call.releasedBy = this.operations[data.calls[n].released_by] ?? null;
      if (call.enqueued) call.enqueued.call = call;
    });
    this.critical = data.critical.map(([index, why], n) => {
      const before = n ? this.operations[data.critical[n - 1][0]] : null;
      return Object.assign(this.operations[index], { before, why, critical: true });
    });
    this.findings.forEach((finding, n) => {
      for (const index of new Set(finding.operations)) this.operations[index].findings.push(n);
    });
  }

  addRow({ kind, name, lanes }) {
    const things = { phases: this.ranges, calls: this.calls }[kind] ?? this.operations;
    const title = GROUPS[kind];
    let group = this.groups.find((group) => group.title === title);
    if (!group) this.groups.push(group = { title, key: `${this.key}.${title}`, rows: [] });
    group.rows.push({ kind, name, lanes: lanes.map((lane) => lane.map((index) => things[index])) });
  }

  // Whether a group is one row: the reader's choice, else by the number of its rows.
  isFolded(group) {
    return state.shut.has(group.key) || (!state.open.has(group.key) && group.rows.length > MANY_ROWS);
  }

  // Rows from the top; each thing learns where it stands, an operation in its stream's row last.
  layOut() {
    for (const thing of [...this.operations, ...this.ranges, ...this.calls]) thing.stands = [];
    let y = AXIS;
    this.rows = [];
    for (const group of this.groups) {
      y += HEADING;
      group.top = y;
      group.folded = this.isFolded(group);
      const rows = group.folded ? [summaryOf(group)] : group.rows;
      for (const row of rows) y = this.stand(row, y);
      group.bottom = y - GAP;
    }
    this.height = y + 2;
  }

  stand(row, y) {
    row.top = y;
    if (row.kind === "summary") {
      row.height = row.lane = SUMMARY;
      for (const lane of row.group.rows.flatMap((own) => own.lanes)) {
        for (const thing of lane) thing.stands.push({ top: y, height: SUMMARY, folded: true });
      }
    } else {
      row.lane = Math.min(LANE, Math.max(THINNEST, LANES / row.lanes.length));
      row.height = row.lane * row.lanes.length;
      row.lanes.forEach((lane, n) => {
        for (const thing of lane) thing.stands.push({ top: y + n * row.lane, height: row.lane });
      });
    }
    this.rows.push(row);
    return y + row.height + GAP;
  }

  group(title) {
    return this.groups.find((group) => group.title === title);
  }

  // What arrows connect: a call and what it enqueued, an operation and one that waited for it.
  get pairs() {
    return this.connected ??= {
      enqueued: this.calls.filter((call) => call.enqueued).map((call) => [call, call.enqueued]),
      waited: this.dependencies.map(([from, to]) => [this.operations[from], this.operations[to]]),
    };
  }

  // When an engine was busy, as disjoint spans in order, by its name.
  get busy() {
    const rows = this.group("engines")?.rows ?? [];
    return this.known ??= rows.map((row) => [row.name, union(row.lanes.flat())]);
  }

  // What is at a height between two times.
  at(y, start, end) {
    const row = this.rows.find((row) => y >= row.top && y < row.top + row.height);
    if (!row) return null;
    if (row.kind === "summary") return stepAt(row, (start + end) / 2);
    const lane = row.lanes[Math.floor((y - row.top) / row.lane)];
    const thing = lane?.[firstAfter(lane, start)];
    return thing && thing.start <= end ? thing : null;
  }

  // The next thing of the same kind in order of the starts that is between two times, after or before another.
  next(from, step, start, end) {
    const own = [this.calls, this.ranges].find((things) => things.includes(from)) ?? this.operations;
    let i = from ? own.indexOf(from) + step : 0;
    for (; i >= 0 && i < own.length; i += step) {
      if (own[i].end >= start && own[i].start <= end) return own[i];
    }
    return null;
  }

  // Marks what the reader searches: names, streams and threads that contain the text.
  search(text) {
    const wanted = text.trim().toLowerCase();
    const has = (thing) => [thing.name, thing.stream, thing.target, thing.thread].some((own) => own?.toLowerCase().includes(wanted));
    const all = [...this.operations, ...this.ranges, ...this.calls];
    this.found = wanted ? new Set(all.filter(has)) : null;
  }
}

// What has to do with a thing: the call of an operation, what it waited for, what waited for it; the operation of a call.
function related(thing) {
  const operation = thing?.engine ? thing : thing?.enqueued ?? thing?.releasedBy;
  if (!operation) return new Set();
  return new Set([operation, operation.call, ...operation.waitsFor, ...operation.waiters].filter((other) => other && other !== thing));
}

// The row that stands for all rows of a group: how many of them are busy at each time.
function summaryOf(group) {
  if (!group.summary) {
    const edges = group.rows.flatMap((row) => union(row.lanes.flat())).flatMap(([start, end]) => [[start, 1], [end, -1]]);
    edges.sort(([a, up], [b, down]) => a - b || up - down);
    const steps = [];
    let count = 0;
    edges.forEach(([at, by], n) => {
      count += by;
      const end = edges[n + 1]?.[0] ?? at;
      if (end > at && count) steps.push({ start: at, end, count });
    });
    const most = steps.reduce((most, step) => Math.max(most, step.count), 0);
    const name = `${group.rows.length} ${group.title === "host" ? "host rows" : group.title}`;
    group.summary = { kind: "summary", group, name, steps, most, lanes: [] };
  }
  return group.summary;
}

function stepAt(row, at) {
  const step = row.steps[firstAfter(row.steps, at)];
  if (!step || step.start > at) return null;
  return { ...step, name: `${step.count} of ${row.name} busy`, summary: true, findings: [], stands: [] };
}

// The time of things as disjoint pairs of start and end in order.
function union(things) {
  const joined = [];
  for (const { start, end } of [...things].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else if (end > start) joined.push([start, end]);
  }
  return joined;
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
