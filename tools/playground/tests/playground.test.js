// The playground in headless Chromium, as a student meets it, from a static server. The folder PLAYGROUND holds what
// `make playground` writes; SCREENSHOTS, if set, gets pictures at three widths.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const SLOW = { timeout: 60_000 };
let browser;
let server;
let address;
let page;
let complaints;

before(async () => {
  server = createServer(async (request, response) => {
    const name = new URL(request.url, "http://localhost").pathname.replace(/\/$/, "/index.html");
    try {
      const bytes = await readFile(path.join(process.env.PLAYGROUND, name));
      const type = TYPES[path.extname(name)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  address = `http://127.0.0.1:${server.address().port}/`;
  // Where CI runs as root, Chromium's own sandbox cannot.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
});

after(async () => {
  await browser?.close();
  server?.close();
});

beforeEach(async () => {
  complaints = [];
  page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error}`));
  page.on("response", (response) => response.ok() || complaints.push(`${response.status()}: ${response.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
});

afterEach(async () => {
  await page.close();
  assert.deepEqual(complaints, []);
});

async function open(hash = "") {
  await page.goto(address + hash);
  await page.waitForFunction(() => "ready" in document.documentElement.dataset);
}

const box = (call) => page.locator(`#calls input[value="${call}"]`);
const missing = () => page.locator("#diagram g[role=button]");
const report = () => page.locator("#report").innerText();

// The status of the order's section says this, after another run.
async function orderSays(text) {
  await page.locator("#order-status", { hasText: text }).waitFor(SLOW);
}

async function openOrder() {
  await open();
  await page.locator("#order").scrollIntoViewIfNeeded();
  await orderSays("0 of 524288 elements are wrong. 0 reports.");
}

test("three-way runs with other chunks, and its timeline and claims appear", async () => {
  await open("#basic_streams/three-way");
  assert.match(await page.locator("#question").innerText(), /three streams/);
  await page.getByLabel("Chunks").fill("4");
  await page.getByLabel("Size").fill("4MiB");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("#lesson-status", { hasText: /holds|hold\./ }).waitFor(SLOW);
  assert.match(await page.locator("#lesson-status").innerText(), /^The lesson holds\. It ran for [\d.]+ s\.$/);
  const charts = page.frameLocator("#timeline").locator("#charts .chart");
  await charts.first().waitFor();
  assert.ok((await page.locator("#claims li").count()) > 5);
  const printed = await page.locator("#printed").textContent();
  assert.match(printed, /Measurement \(modelled\)/);
  assert.match(printed, /4 MiB in 4 chunks|4 chunks/);
});

test("an option with a wrong value is explained", async () => {
  await open("#basic_streams/three-way");
  await page.getByLabel("Chunks").fill("none");
  await page.getByLabel("Chunks").press("Enter");
  await page.locator("#lesson-status", { hasText: "An option has a wrong value." }).waitFor(SLOW);
  assert.match(await page.locator("#printed").innerText(), /invalid value 'none'/);
});

test("a part that needs threads is not offered", async () => {
  await open();
  const option = page.locator("#part option", { hasText: "default-stream" });
  const shown = await option.evaluate(({ disabled, textContent }) => [disabled, textContent]);
  assert.deepEqual(shown, [true, "default-stream (not in the browser)"]);
});

test("without an event the result is wrong, and the report and the missing arrow say why", async () => {
  await openOrder();
  assert.equal(await missing().count(), 0);
  assert.equal(await report(), "The checker reports nothing.");
  await box("wait-loaded").uncheck();
  await orderSays(/[1-9]\d* of 524288 elements are wrong\. [1-9]\d* report/);
  assert.match(await report(), /raw_order\.rs:\d+/);
  assert.equal(await missing().count(), 2);
  // The arrow repairs it.
  await missing().first().click();
  await orderSays("0 of 524288 elements are wrong. 0 reports.");
  assert.ok(await box("wait-loaded").isChecked());
  assert.equal(await missing().count(), 0);
});

test("each call can be left out alone, the checker reports it, and the keyboard repairs it", async () => {
  await openOrder();
  const calls = await page.locator("#calls input").evaluateAll((boxes) => boxes.map(({ value }) => value));
  assert.equal(calls.length, 7);
  for (const call of calls) {
    await box(call).uncheck();
    await orderSays(/\. [1-9]\d* reports?\.$/);
    assert.ok(await missing().count(), call);
    await missing().first().focus();
    await page.keyboard.press("Enter");
    await orderSays("0 of 524288 elements are wrong. 0 reports.");
    assert.ok(await box(call).isChecked(), call);
  }
});

test("no width needs a horizontal scroll bar, and every field has a label", async () => {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of [390, 900, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      await openOrder();
      await box("record-computed").uncheck();
      await orderSays(/\. [1-9]\d* reports?\.$/);
      const found = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(found <= width, `${found} pixels at ${width}`);
      const unlabelled = await page.evaluate(() =>
        [...document.querySelectorAll("input:not([type=hidden]), select")].filter((field) => !field.labels.length).map(({ id }) => id),
      );
      assert.deepEqual(unlabelled, []);
      if (process.env.SCREENSHOTS) {
        await page.locator("#run").click();
        await page.locator("#lesson-status", { hasText: /holds|hold\./ }).waitFor(SLOW);
        await page.waitForTimeout(300);
        const file = path.join(process.env.SCREENSHOTS, `playground-${scheme}-${width}.png`);
        await page.screenshot({ path: file, fullPage: true });
      }
    }
  }
});

async function openLabs(hash = "") {
  await open(hash);
  await page.waitForFunction(() => "labs" in document.documentElement.dataset, null, SLOW);
}

const program = () => page.locator("#program .cm-content");
const labSays = (text) => page.locator("#lab-status", { hasText: text }).waitFor(SLOW);

// Replaces a text of the program as a student does: all of it is typed.
async function replace(from, to) {
  const text = await page.evaluate(() => [...document.querySelectorAll("#program .cm-line")].map((line) => line.textContent).join("\n"));
  assert.ok(text.includes(from), text);
  await program().click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text.replace(from, () => to));
}

async function judge() {
  await page.getByRole("button", { name: "Run and judge" }).click();
}

test("a lab's exercise fails with the missing dependency, and the missing wait passes it", async () => {
  await openLabs("#lab/05_missing_event");
  await judge();
  await labSays(/^\d+ of 12 points\.$/);
  assert.match(await page.locator("#edges").innerText(), /missing edge: .*copy in.*compute/s);
  assert.match(await page.locator("#lab-report").innerText(), /program:\d+/);
  assert.equal(await page.locator("#lab-charts figure").count(), 2);
  await replace("affine_rounds_x4<<<", "compute.wait(copied)\naffine_rounds_x4<<<");
  await judge();
  await labSays("Passed: 12 of 12 points.");
  // It is kept, and a link carries it.
  await page.getByRole("button", { name: "Link to this program" }).click();
  await labSays("The address of this page now holds the program.");
  const address = page.url();
  await page.evaluate(() => localStorage.removeItem("cuda-streams-labs"));
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForFunction(() => "labs" in document.documentElement.dataset, null, SLOW);
  assert.match(await program().innerText(), /compute\.wait\(copied\)/);
});

test("a program that waits on the host for everything is right and too slow", async () => {
  await openLabs("#lab/13_three_way");
  await judge();
  await labSays(/^\d+ of 16 points\.$/);
  const missed = await page.locator("#criteria li", { has: page.locator("b.wrong") }).allInnerTexts();
  assert.deepEqual(missed.map((text) => text.match(/\d+\/\d+\s+([\w-]+)/)[1]), ["host-free", "overlap", "fast"]);
});

test("an error stands at its line, and a word is completed", async () => {
  await openLabs("#lab/01_first_stream");
  await replace("work.copy(output, data)", "work.copy(output, dat)");
  await page.locator("#program .cm-lint-marker-error").waitFor(SLOW);
  await judge();
  await labSays(/^Line \d+: dat is not declared\.$/);
  await page.keyboard.press("Control+End");
  await page.keyboard.type("work.sync");
  await page.locator("#program .cm-tooltip-autocomplete li", { hasText: "synchronize" }).waitFor(SLOW);
});

test("the program is shown as Rust and as CUDA C++, and points are saved as a class's results", async () => {
  await openLabs("#lab/09_early_host_read");
  await page.getByLabel("Show as").selectOption("rust");
  await page.locator("#translation", { hasText: "launch!(kernels.affine_rounds_x4<<<" }).waitFor(SLOW);
  await page.getByLabel("Show as").selectOption("cpp");
  await page.locator("#translation", { hasText: "cudaStreamWaitEvent(copy_out, computed, 0)" }).waitFor(SLOW);
  await replace("compute.synchronize()", "copy_out.synchronize()");
  await judge();
  await labSays(/^Passed/);
  await page.getByLabel("Name").fill("Ada");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save the results" }).click()]);
  const [grade] = JSON.parse(await readFile(await file.path(), "utf8"));
  assert.deepEqual([grade.student, grade.points, grade.of, grade.labs[0].lab], ["Ada", 12, 12, "09_early_host_read"]);
});

test("a file of results shows its timelines, and another file says what it is", async () => {
  await open();
  const sample = path.join(import.meta.dirname, "../../../docs/samples/three-way.json");
  await page.locator("#trace-file").setInputFiles(sample);
  await page.locator("#trace-status", { hasText: "its timelines" }).waitFor(SLOW);
  await page.frameLocator("#trace").locator("#charts .chart").first().waitFor();
  await page.locator("#trace-file").setInputFiles(sample.replace(".json", ".sqlite"));
  await page.locator("#trace-status", { hasText: "an export of Nsight Systems" }).waitFor(SLOW);
  await page.locator("#trace-file").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{") });
  await page.locator("#trace-status.wrong", { hasText: "error:" }).waitFor(SLOW);
});
