// What is known of a thing, in words.

// An operation as a reader finds it in the chart.
function called(operation) {
  return `${titleOf(operation)} (${operation.stream})`;
}

// The name, with the number where there are several of the kind.
function titleOf(thing) {
  return thing.number ? `${thing.name} ${thing.number}` : thing.name;
}

function listed(operations) {
  return operations.slice(0, 4).map(called).join(", ") + (operations.length > 4 ? " …" : "");
}

// All that is known besides the name: pairs of what and how much.
function facts(thing) {
  const long = thing.end - thing.start;
  const known = [];
  if (thing.engine) known.push(["Engine", thing.engine], ["Stream", thing.stream]);
  if (thing.thread) known.push(["Host thread", thing.thread]);
  if (thing.target) known.push(["Stream", thing.target]);
  known.push(["Start", moment(thing.start)], ["Duration", time(long)]);
  if (thing.bytes > 0) known.push(["Bytes", bytes(thing.bytes)]);
  if (thing.bytes > 0 && long > 0) known.push(["Bandwidth", bandwidth(thing.bytes, long)]);
  if (thing.waitsFor?.length) known.push(["Waited for", listed(thing.waitsFor)]);
  if (thing.call) known.push(["Enqueued by", `${thing.call.name} at ${moment(thing.call.start)}`]);
  if (thing.enqueued) known.push(["Enqueued", called(thing.enqueued)]);
  if (thing.releasedBy && !thing.enqueued) known.push(["Waited for", called(thing.releasedBy)]);
  if (thing.before) known.push(["Critical path", `after ${called(thing.before)}: ${thing.why}`]);
  return known;
}
