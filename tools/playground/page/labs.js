// The third section: a lab as a stream program, edited here, run in a worker, and judged by the labs' own judge.

import { charts } from "./charts.js";
import { Runner, showProgress } from "./runner.js";
import { linkTo, programIn, results, saved } from "./state.js";
import { editor } from "./vendor/editor.js";

const $ = (id) => document.getElementById(id);
const runner = new Runner();
const { labs } = await (await fetch("programs/labs.json")).json();
const lab = () => labs.find(({ name }) => name === $("lab").value);

const ask = (request) => runner.run(request, (share) => showProgress($("lab-progress"), share));

// What is wrong, by lines. Without the program, the editor says nothing.
async function errors(text) {
  return (await ask({ task: "check", text })).errors;
}

function item(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function criterion({ id, points, of, mark, found, teaches }) {
  const row = document.createElement("li");
  const met = mark === "met";
  row.append(item("b", met ? "right" : mark === "missed" ? "wrong" : "quiet", `${points}/${of}`));
  row.append(` ${id}${found ? `: ${found}` : ""}`);
  if (teaches) row.append(item("p", "", teaches));
  return row;
}

function show({ verdict, stderr }) {
  const { points, of, passed } = verdict;
  $("lab-status").textContent = passed ? `Passed: ${points} of ${of} points.` : `${points} of ${of} points.`;
  $("lab-status").className = passed ? "right" : "wrong";
  $("criteria").replaceChildren(...verdict.criteria.map(criterion));
  $("edges").replaceChildren(...verdict.edges.map((edge) => item("li", "wrong", edge)));
  $("lab-charts").replaceChildren(...charts(verdict));
  const failure = verdict.yours ? [] : [stderr.trim()].filter(Boolean);
  const texts = passed ? [] : [...failure, ...(verdict.reports ?? [])];
  $("lab-report").textContent = texts.join("\n\n");
  $("lab-report").hidden = texts.length === 0;
  $("verdict").hidden = false;
  saved.reached(verdict);
  showPoints();
}

function showPoints() {
  const points = saved.points();
  const sum = Object.values(points).reduce((sum, { points }) => sum + points, 0);
  $("lab-points").textContent = `${sum} points in ${Object.keys(points).length} of ${labs.length} labs.`;
}

async function judge() {
  $("judge").disabled = true;
  $("lab-status").className = "";
  $("lab-status").textContent = "The program runs …";
  try {
    const answer = await ask({ task: "judge", lab: lab().name, text: program.text });
    if (answer.errors.length) {
      const [{ line, message }] = answer.errors;
      $("lab-status").textContent = `Line ${line}: ${message}.`;
      $("lab-status").className = "wrong";
      $("verdict").hidden = true;
      program.focus(line);
    } else {
      show(answer);
    }
  } catch (error) {
    $("lab-status").textContent = `The program could not be run: ${error.message}`;
    $("lab-status").className = "wrong";
  }
  $("lab-progress").hidden = true;
  $("judge").disabled = false;
}

async function translate() {
  const language = $("language").value;
  $("translation").hidden = language === "none";
  if (language === "none") return;
  const { errors, stdout } = await ask({ task: language, text: program.text });
  $("translation").textContent = errors.length ? `Line ${errors[0].line}: ${errors[0].message}.` : stdout;
}

function chosen(text) {
  program.text = text ?? saved.program(lab().name) ?? lab().exercise;
  $("verdict").hidden = true;
  $("lab-status").textContent = "";
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const { words } = await ask({ task: "words" });
let waiting;
const program = editor($("program"), {
  words,
  errors,
  changed(text) {
    saved.keep(lab().name, text === lab().exercise ? null : text);
    clearTimeout(waiting);
    waiting = setTimeout(translate, 400);
  },
});
$("lab").replaceChildren(...labs.map(({ name }) => new Option(name.replaceAll("_", " "), name)));
const linked = await programIn(location.hash);
if (labs.some(({ name }) => name === linked?.lab)) $("lab").value = linked.lab;
chosen(linked?.text);
showPoints();
$("lab").addEventListener("change", () => chosen());
$("language").addEventListener("change", translate);
$("lab-form").addEventListener("submit", (event) => {
  event.preventDefault();
  judge();
});
$("reset").addEventListener("click", () => chosen(lab().exercise));
$("link").addEventListener("click", async () => {
  history.replaceState(null, "", await linkTo(lab().name, program.text));
  $("lab-status").className = "";
  $("lab-status").textContent = "The address of this page now holds the program.";
});
$("export").addEventListener("click", () => download("results.json", results($("student").value.trim() || "student", labs.map(({ name }) => name))));
document.documentElement.dataset.labs = "";
