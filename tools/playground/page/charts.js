// Two recordings as charts of one scale: a lane for each stream, a bar for each operation.

const WIDTH = 760;
const LEFT = 96;
const LANE = 30;
const STYLES = {
  "host-to-device": "h2d", "device-to-host": "d2h", "device-to-device": "d2d", kernel: "kernel", set: "set", function: "host",
};

function element(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const ends = (recording) => recording.intervals.map(({ span }) => span);
const length = (recording) => {
  const spans = ends(recording);
  return spans.length ? Math.max(...spans.map(({ end }) => end)) - Math.min(...spans.map(({ start }) => start)) : 0;
};

function chart(title, recording, longest) {
  const { intervals } = recording;
  const begin = Math.min(...intervals.map(({ span }) => span.start));
  const lane = ({ device, stream }) => (device ? `GPU ${device} ${stream}` : stream);
  const lanes = [...new Set(intervals.map(lane))];
  const x = (time) => LEFT + ((WIDTH - LEFT - 4) * (time - begin)) / longest;
  const height = lanes.length * LANE + 4;
  const label = `${title}: ${intervals.length} operations in ${(length(recording) / 1e3).toFixed(1)} µs, modelled`;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  for (const [at, name] of lanes.entries()) {
    svg.append(element("rect", { class: "lane", x: LEFT, y: at * LANE, width: WIDTH - LEFT, height: LANE - 6 }));
    svg.append(element("text", { x: 0, y: at * LANE + 17 }, name.slice(0, 14)));
  }
  for (const interval of intervals) {
    const { start, end } = interval.span;
    const place = { x: x(start), y: lanes.indexOf(lane(interval)) * LANE + 2, width: Math.max(x(end) - x(start), 1), height: LANE - 10 };
    const bar = element("rect", { class: STYLES[interval.engine] ?? "host", ...place });
    bar.append(element("title", {}, `${interval.name} in ${interval.stream}: ${((end - start) / 1e3).toFixed(1)} µs`));
    svg.append(bar);
  }
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = label;
  figure.append(caption, svg);
  return figure;
}

// The charts of what there is of `yours` and `goal`.
export function charts({ yours, goal }) {
  const recordings = Object.entries({ Yours: yours, Goal: goal }).filter(([, recording]) => recording?.intervals.length);
  const longest = Math.max(...recordings.map(([, recording]) => length(recording)), 1);
  return recordings.map(([title, recording]) => chart(title, recording, longest));
}
