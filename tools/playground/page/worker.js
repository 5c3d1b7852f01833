// Fetches programs and runs them, so that the page stays responsive. A message {id, program, args, env, results} asks for a run;
// the answers with that id are {progress}, then {code, stdout, stderr, results, page} or {error}. Programs stay compiled. A message
// {id, task, ..} is about a stream program, see judge.js, or asks for the page of a file of results.

import { labTask } from "./judge.js";
import { run } from "./program.js";

const compiled = new Map();
const text = (bytes) => new TextDecoder().decode(bytes);

// Compiles while the program arrives. The files are compressed, which not every server does by itself.
async function compile(name, progress) {
  const response = await fetch(`programs/${name}.wasm.packed`);
  if (!response.ok) throw new Error(`${name} cannot be fetched: ${response.status} ${response.statusText}`);
  const total = Number(response.headers.get("content-length"));
  let received = 0;
  const counted = new TransformStream({
    transform(chunk, controller) {
      received += chunk.byteLength;
      if (total > 0) progress(received / total);
      controller.enqueue(chunk);
    },
  });
  const bytes = response.body.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(bytes, { headers: { "content-type": "application/wasm" } }));
}

// A program that could not be fetched is fetched again the next time.
function program(name, progress) {
  if (!compiled.has(name)) {
    const module = compile(name, progress);
    module.catch(() => compiled.delete(name));
    compiled.set(name, module);
  }
  return compiled.get(name);
}

async function execute({ program: name, args, env, results }, progress) {
  const printed = { stdout: "", stderr: "" };
  const write = (stream, text) => (printed[stream] += text);
  // Both arrive at the same time.
  const [module, pages] = await Promise.all([program(name, progress), program("timeline_page", () => {})]);
  const { code, files } = await run(module, [name, ...args], { env, write }).catch((error) => {
    throw new Error([error.message, printed.stderr.trim()].filter(Boolean).join("\n"));
  });
  const answer = { code, ...printed };
  if (files[results]) Object.assign(answer, { results: JSON.parse(text(files[results])), page: await drawn(pages, files[results]) });
  return answer;
}

// The page of timelines of a file of results.
async function drawn(pages, bytes) {
  let complaint = "";
  const write = (stream, words) => (complaint += words);
  const { code, files } = await run(pages, ["timeline_page", "results.json", "page.html"], { files: { "results.json": bytes }, write });
  if (code !== 0) throw new Error(complaint.trim());
  return text(files["page.html"]);
}

function task(data, programs) {
  if (data.task === "page") return programs("timeline_page").then(async (pages) => ({ page: await drawn(pages, data.bytes) }));
  return data.task ? labTask(data, programs) : null;
}

addEventListener("message", async ({ data }) => {
  const progress = (share) => postMessage({ id: data.id, progress: share });
  try {
    const done = task(data, (name) => program(name, progress)) ?? execute(data, progress);
    postMessage({ id: data.id, ...(await done) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error?.message ?? error) });
  }
});
