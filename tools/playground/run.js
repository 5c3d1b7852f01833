// Runs a program of WebAssembly in Node: node run.js PROGRAM.wasm ARGUMENT.. Its exit code is the program's.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { run } from "./page/program.js";

const [file, ...args] = process.argv.slice(2);
if (!file) {
  process.stderr.write("usage: node run.js PROGRAM.wasm [ARGUMENT]..\n");
  process.exit(2);
}
const names = ["COLUMNS", "CUDA_DRIVER", "SOFTWARE_GPU", "SOFTWARE_GPU_RACES", "SOFTWARE_GPU_TIMELINE"];
const env = Object.fromEntries(names.filter((name) => process.env[name]).map((name) => [name, process.env[name]]));
const module = await WebAssembly.compile(await readFile(file));
const write = (stream, text) => process[stream].write(text);
const { code } = await run(module, [path.basename(file, ".wasm"), ...args], { env, write });
process.exitCode = code;
