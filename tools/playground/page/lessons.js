// The first section: a lesson runs with the options that its part has.

import { Runner, showProgress, showTimeline } from "./runner.js";

const GPUS = ["h200", "b200", "h100", "a100", "l4", "rtx4090", "t4"];
// What an empty field shows. The lesson itself knows its defaults.
const FIELDS = {
  "--iterations": { label: "Timed runs", hint: "1" },
  "--size": { label: "Size", hint: "e.g. 8MiB" },
  "--chunks": { label: "Chunks", hint: "e.g. 4" },
  "--streams": { label: "Streams", hint: "e.g. 8" },
  "--rounds": { label: "Kernel length", hint: "rounds" },
};

const $ = (id) => document.getElementById(id);
const runner = new Runner();
const lessons = await (await fetch("programs/lessons.json")).json();

const lesson = () => lessons.find(({ name }) => name === $("lesson").value);
const part = () => lesson().parts.find(({ name }) => name === $("part").value);

// Threads and processes, which a browser's worker does not have.
const isHere = ({ needs }) => needs.every(({ property }) => !property.includes("not in the browser"));

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
}

function field(option) {
  const { label, hint } = FIELDS[option];
  const input = document.createElement("input");
  Object.assign(input, { type: "text", name: option, placeholder: hint, spellcheck: false });
  const element = document.createElement("label");
  element.append(label, input);
  return element;
}

function partChosen() {
  $("question").textContent = part().question;
  $("fields").replaceChildren(...part().options.filter((option) => option in FIELDS).map(field));
}

function lessonChosen() {
  const options = lesson().parts.map((part) => {
    const option = new Option(isHere(part) ? part.name : `${part.name} (not in the browser)`, part.name);
    option.disabled = !isHere(part);
    return option;
  });
  $("part").replaceChildren(...options);
  $("part").value = lesson().parts.find(isHere).name;
  partChosen();
}

function claim({ sentence, found, holds, judged = true }) {
  const item = document.createElement("li");
  const verdict = document.createElement("b");
  verdict.textContent = !judged ? "printed" : holds ? "holds" : "fails";
  verdict.className = !judged ? "quiet" : holds ? "right" : "wrong";
  item.append(verdict, ` ${sentence}: ${found}`);
  return item;
}

function show({ code, stdout, stderr, results, page }, seconds) {
  const verdicts = ["The lesson holds.", "The lesson does not hold.", "An option has a wrong value.", "This GPU lacks what the part needs."];
  $("lesson-status").textContent = `${verdicts[code] ?? `The program ended with exit code ${code}.`} It ran for ${seconds.toFixed(1)} s.`;
  $("lesson-status").className = code === 0 ? "right" : "wrong";
  $("claims").replaceChildren(...(results?.parts ?? []).flatMap(({ claims }) => claims).map(claim));
  $("printed").textContent = [stdout, stderr].filter(Boolean).join("\n");
  $("claims-of-lesson").hidden = false;
  $("claims-of-lesson").querySelector("details").open = !results;
  showTimeline($("timeline"), page);
}

async function submitted(event) {
  event.preventDefault();
  const options = [...$("fields").querySelectorAll("input")].filter(({ value }) => value.trim());
  const args = ["--device", "software", "--gpu", $("gpu").value, "--part", part().name, "--json", "results.json"];
  for (const { name, value } of options) args.push(name, value.trim());
  $("run").disabled = true;
  $("lesson-status").className = "";
  $("lesson-status").textContent = "The lesson runs …";
  const begin = performance.now();
  try {
    const request = { program: lesson().name, args, env: { COLUMNS: "100" }, results: "results.json" };
    const answer = await runner.run(request, (share) => showProgress($("lesson-progress"), share));
    show(answer, (performance.now() - begin) / 1000);
  } catch (error) {
    $("lesson-status").textContent = `The lesson could not be run: ${error.message}`;
    $("lesson-status").className = "wrong";
  }
  $("lesson-progress").hidden = true;
  $("run").disabled = false;
}

fill($("lesson"), lessons.map(({ name }) => name));
fill($("gpu"), GPUS);
lessonChosen();
// A link names a lesson and its part: #basic_streams/three-way.
const [named, partNamed] = decodeURIComponent(location.hash.slice(1)).split("/");
if (lessons.some(({ name }) => name === named)) {
  $("lesson").value = named;
  lessonChosen();
}
if (lesson().parts.some(({ name }) => name === (partNamed ?? "three-way"))) {
  $("part").value = partNamed ?? "three-way";
  partChosen();
}
$("lesson").addEventListener("change", lessonChosen);
$("part").addEventListener("change", partChosen);
$("lesson-form").addEventListener("submit", submitted);
document.documentElement.dataset.ready = "";
