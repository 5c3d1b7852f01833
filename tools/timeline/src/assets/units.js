// Figures as people read them: three significant digits and a unit.

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function time(nanoseconds) {
  const units = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
  const [unit, name] = units.find(([unit]) => nanoseconds / unit < 999.5) ?? units[3];
  return `${unit === 1 ? nanoseconds.toFixed(0) : digits(nanoseconds / unit)} ${name}`;
}

// A moment to the nanosecond.
function moment(nanoseconds) {
  const [unit, name] = unitOf(nanoseconds);
  return `${signed(nanoseconds / unit)} ${name}`;
}

// With the sign of typography, which is as wide as a plus; nothing that rounds to zero has one.
function signed(value, decimals) {
  const text = decimals === undefined ? String(value) : value.toFixed(decimals);
  return Number(text) < 0 ? text.replace("-", "−") : text.replace("-", "");
}

// From when until when, with as many digits as distinguish them, and how long that is.
function stretch(start, end) {
  const [unit, name] = unitOf(end);
  const decimals = Math.max(0, Math.round(Math.log10(unit)) - Math.floor(Math.log10(end - start)) + 2);
  const [from, to] = [start, end].map((at) => signed(at / unit, Math.min(decimals, 9)));
  return `${from} – ${to} ${name} (${time(end - start)})`;
}

// The unit that leaves something before the point.
function unitOf(nanoseconds) {
  const size = Math.abs(nanoseconds);
  return [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([unit]) => size >= unit) ?? [1, "ns"];
}

function bytes(amount) {
  const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const [unit, name] = units.find(([unit]) => amount > 0 && amount % unit === 0) ?? [1, "B"];
  return `${amount / unit} ${name}`;
}

// Bytes per nanosecond are gigabytes per second.
function bandwidth(amount, nanoseconds) {
  return `${digits(amount / nanoseconds)} GB/s`;
}

// At most this many marks between two times: round steps, all in one suitable unit.
function ticks(start, end, most) {
  const least = (end - start) / Math.max(most, 1);
  let step = Math.max(10 ** Math.floor(Math.log10(least)), 1);
  step *= [1, 2, 5, 10].find((factor) => step * factor >= least) ?? 10;
  const [unit, name] = unitOf(Math.max(end, -start));
  const decimals = Math.max(0, Math.round(Math.log10(unit) - Math.floor(Math.log10(step))));
  const marks = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) {
    marks.push({ at, label: Math.abs(at) < step / 2 ? "0" : `${signed(at / unit, decimals)} ${name}` });
  }
  return marks;
}
