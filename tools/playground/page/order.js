// The second section: raw_order, with a box for each call that orders its operations.

import { diagram } from "./diagram.js";
import { Runner, showProgress, showTimeline } from "./runner.js";

// The program's loop, in its order. A line with an id is a call that an argument leaves out.
const LINES = [
  { loop: "for each of two batches:" },
  { id: "wait-emptied", text: "copy_in.wait(emptied)" },
  { text: "copy in  (cuMemcpyHtoDAsync)" },
  { id: "record-loaded", text: "loaded.record(copy_in)" },
  { id: "wait-loaded", text: "compute.wait(loaded)" },
  { text: "kernel   (cuLaunchKernel)" },
  { id: "record-computed", text: "computed.record(compute)" },
  { id: "wait-computed", text: "copy_out.wait(computed)" },
  { text: "copy out (cuMemcpyDtoHAsync)" },
  { id: "record-emptied", text: "emptied.record(copy_out)" },
  { loop: "then:" },
  { id: "synchronize", text: "copy_out.synchronize()" },
  { text: "the host reads the result" },
];

const $ = (id) => document.getElementById(id);
const runner = new Runner();
const box = (id) => document.querySelector(`#calls input[value="${id}"]`);

function line({ id, text, loop }) {
  const item = document.createElement("li");
  item.className = loop ? "loop" : id ? "call" : "fixed";
  if (!id) {
    item.textContent = loop ?? text;
    return item;
  }
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "checkbox", value: id, checked: true });
  label.append(input, text);
  item.append(label);
  return item;
}

function repair(calls) {
  for (const id of calls) box(id).checked = true;
  changed();
}

function show({ stdout, stderr, results, page }) {
  const findings = results?.parts[0].timelines[0].recording.findings ?? [];
  $("report").textContent = findings.map(({ text }) => text).join("\n\n") || "The checker reports nothing.";
  const result = stdout.trim() || stderr.trim();
  const isRight = result.startsWith("0 of");
  $("order-status").textContent = `${result}. ${findings.length} report${findings.length === 1 ? "" : "s"}.`;
  $("order-status").className = isRight && findings.length === 0 ? "right" : "wrong";
  if (results) {
    const makes = (id) => box(id).checked;
    $("diagram").replaceChildren(diagram(results.parts[0].timelines[0].recording, makes, repair));
  }
  showTimeline($("order-timeline"), page);
}

let latest = 0;

// Boxes that change while the program runs ask for another run; the last answer stands.
async function changed() {
  const number = ++latest;
  const leftOut = [...document.querySelectorAll("#calls input:not(:checked)")].map(({ value }) => value);
  const env = { CUDA_DRIVER: "software", SOFTWARE_GPU_TIMELINE: "results.json" };
  try {
    const request = { program: "raw_order", args: leftOut, env, results: "results.json" };
    const answer = await runner.run(request, (share) => showProgress($("order-progress"), share));
    if (number === latest) show(answer);
  } catch (error) {
    $("order-status").textContent = `The program could not be run: ${error.message}`;
    $("order-status").className = "wrong";
  }
  $("order-progress").hidden = true;
  $("order").dataset.runs = String(number);
}

$("calls").replaceChildren(...LINES.map(line));
$("order-form").addEventListener("change", changed);
$("order-form").addEventListener("submit", (event) => event.preventDefault());
// Not before it is seen, so that it does not delay the first lesson.
new IntersectionObserver((entries, observer) => {
  if (entries.some(({ isIntersecting }) => isIntersecting)) {
    observer.disconnect();
    changed();
  }
}).observe($("order"));
