// Runs a program that was compiled for WASI (wasm32-wasip1), in a browser's worker or in Node.

import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI } from "./vendor/index.js";

// Runs a compiled module from beginning to end. `files` are the files of its only folder, by name, as bytes; the returned ones
// include those that it has written. `write(stream, text)` gets the text of "stdout" and "stderr" as it is written.
export async function run(module, args, { env = {}, files = {}, write = () => {} } = {}) {
  const folder = new Map(Object.entries(files).map(([name, bytes]) => [name, new File(bytes)]));
  const output = (stream) => {
    const decoder = new TextDecoder();
    return new ConsoleStdout((bytes) => write(stream, decoder.decode(bytes, { stream: true })));
  };
  const descriptors = [
    new OpenFile(new File([])),
    output("stdout"),
    output("stderr"),
    new PreopenDirectory("/", folder),
  ];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const wasi = new WASI(args, variables, descriptors, { debug: false });
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
  let code;
  try {
    code = wasi.start(instance);
  } catch (error) {
    throw new Error(`${args[0]} ended with: ${error.message}`, { cause: error });
  }
  const written = [...folder].filter(([, file]) => !(file instanceof Directory));
  return { code, files: Object.fromEntries(written.map(([name, file]) => [name, file.data])) };
}
