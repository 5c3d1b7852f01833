// The worker's tasks with stream programs: check, translate, run and judge.

import { run } from "./program.js";

const bytes = (text) => new TextEncoder().encode(text);
let catalogue;

// Runs a compiled module; `env` and `files` as those of a program.
async function execute(module, args, options = {}) {
  const printed = { stdout: "", stderr: "" };
  const write = (stream, words) => (printed[stream] += words);
  const done = await run(module, args, { ...options, write });
  return { ...done, ...printed };
}

// As `cargo lab` starts a program of a lab.
function environment(lab) {
  return {
    LAB: lab, LAB_RECORD: "record.json", LAB_GPUS: "1", CUDA_DRIVER: "software", SOFTWARE_GPU: "h200",
    SOFTWARE_GPU_RACES: "report", CUDA_MODULE_LOADING: "EAGER", RUST_BACKTRACE: "0",
  };
}

async function judged(name, source, program) {
  catalogue ??= await (await fetch("programs/labs.json")).json();
  const lab = catalogue.labs.find((lab) => lab.name === name);
  const [interpreter, judge] = await Promise.all([program("stream_program"), program("judge_record")]);
  const files = { program: bytes(source) };
  // A program that ends in the middle, such as by too much memory, has handed in nothing.
  const ran = await execute(interpreter, ["stream_program", "run", "program"], { env: environment(name), files })
    .catch((error) => ({ code: 1, stdout: "", stderr: error.message, files: {} }));
  const left = { code: bytes(String(ran.code)), stdout: bytes(ran.stdout), stderr: bytes(ran.stderr) };
  if (ran.files["record.json"]) left["record.json"] = ran.files["record.json"];
  Object.assign(left, { "labs.toml": bytes(catalogue.catalogue), "goal.json": bytes(lab.goal) });
  const { code, stdout, stderr } = await execute(judge, ["judge_record", name, "."], { files: left });
  if (code !== 0) throw new Error(stderr.trim());
  return { errors: [], verdict: JSON.parse(stdout), stdout: ran.stdout, stderr: ran.stderr };
}

// `program(name)` resolves to a compiled program.
export async function labTask({ task, lab, text: source }, program) {
  const interpreter = await program("stream_program");
  if (task === "words") return { words: JSON.parse((await execute(interpreter, ["stream_program", "words"])).stdout) };
  const files = { program: bytes(source) };
  const checked = await execute(interpreter, ["stream_program", "check", "program"], { files });
  const errors = JSON.parse(checked.stdout);
  if (errors.length || task === "check") return { errors };
  if (task === "judge") return judged(lab, source, program);
  return { errors, ...(await execute(interpreter, ["stream_program", task, "program"], { files })) };
}
