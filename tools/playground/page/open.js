// The fourth section: a file of results, opened here and sent nowhere.

import { Runner, showProgress, showTimeline } from "./runner.js";

const $ = (id) => document.getElementById(id);
const runner = new Runner();
const SQLITE = "SQLite format 3\0";

// The kind of a file that does not hold results.
function refusal(name, bytes) {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, SQLITE.length));
  if (head !== SQLITE) return null;
  return `${name} is an export of Nsight Systems, which the page cannot read. Draw it with: cargo chapter timeline ${name}`;
}

async function opened(file) {
  const say = (text, className) => Object.assign($("trace-status"), { textContent: text, className });
  say(`${file.name} is read …`, "");
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const refused = refusal(file.name, bytes);
    if (refused) throw new Error(refused);
    const { page } = await runner.run({ task: "page", bytes }, (share) => showProgress($("trace-progress"), share));
    showTimeline($("trace"), page);
    say(`${file.name}: its timelines, with the causes of gaps.`, "right");
  } catch (error) {
    showTimeline($("trace"), null);
    say(error.message, "wrong");
  }
  $("trace-progress").hidden = true;
}

$("trace-file").addEventListener("change", ({ target }) => target.files[0] && opened(target.files[0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  const [file] = event.dataTransfer.files;
  if (!file) return;
  event.preventDefault();
  $("open").scrollIntoView();
  opened(file);
});
