// Fetches programs and runs them, so that the page stays responsive. A message {id, program, args, env, results} asks for a run;
// the answers with that id are {progress}, then {code, stdout, stderr, results, page} or {error}. Programs stay compiled.

import { run } from "./program.js";

const compiled = new Map();

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
  if (files[results]) {
    const drawn = await run(pages, ["timeline_page", results, "page.html"], { files: { [results]: files[results] } });
    const text = (bytes) => bytes && new TextDecoder().decode(bytes);
    Object.assign(answer, { results: JSON.parse(text(files[results])), page: text(drawn.files["page.html"]) });
  }
  return answer;
}

addEventListener("message", async ({ data }) => {
  const progress = (share) => postMessage({ id: data.id, progress: share });
  try {
    postMessage({ id: data.id, ...(await execute(data, progress)) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error?.message ?? error) });
  }
});
