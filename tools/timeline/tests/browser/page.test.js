// The timelines' page in headless Chromium, as a reader meets it: opened as a file, moved by pointer and by keyboard.
// The folder PAGES holds the pages that the crate's example `pages` writes; SCREENSHOTS, if set, gets pictures of them.

import assert from "node:assert/strict";
import path from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

let browser;
let page;
let complaints;

before(async () => {
  // Where CI runs as root, Chromium's own sandbox cannot.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
});

after(() => browser?.close());

beforeEach(async () => {
  complaints = [];
  page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) complaints.push(`request: ${request.url()}`);
  });
});

afterEach(async () => {
  await page.close();
  assert.deepEqual(complaints, []);
});

async function open(name) {
  const [file, hash] = name.split("#");
  await page.goto(pathToFileURL(path.join(process.env.PAGES, file)).href + (hash ? `#${hash}` : ""));
  // The data of large pages is unpacked first.
  await page.waitForFunction(() => document.getElementById("charts").childElementCount > 0);
  await settled();
}

// Two frames: what an event asked for has been painted.
function settled() {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function shot(name) {
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
  }
}

const span = () => page.locator("#window").innerText();
const tooltip = () => page.locator("#tooltip");
const heading = (name, n = 0) => page.locator(".chart").nth(n).locator(".labels .group", { hasText: name });
const labels = (n = 0) => page.locator(".chart").nth(n).locator(".labels span").allInnerTexts();
const measured = () => page.locator(".measured").allInnerTexts();
const plot = (n = 0) => page.locator(".plot").nth(n);
const painted = (n = 0) => page.locator(".plot canvas").nth(n).evaluate((canvas) => canvas.toDataURL());

// The window of time is this, to the last digit that is shown.
async function shows(start, end) {
  const found = (await span()).match(/^(−?[\d.]+) – ([\d.]+) µs \(/)?.slice(1).map((text) => Number(text.replace("−", "-"))) ?? [];
  assert.ok(Math.abs(found[0] - start) < 0.11 && Math.abs(found[1] - end) < 0.11, `${await span()} instead of ${start} to ${end} µs`);
}

// Moves the pointer to a moment in the row that is called so, of the first or of another timeline.
async function point(row, share, n = 0) {
  const chart = page.locator(".chart").nth(n);
  // The mouse reaches only what is in the window.
  await plot(n).scrollIntoViewIfNeeded();
  const label = await chart.locator(".labels span", { hasText: new RegExp(`^${row}$`) }).boundingBox();
  const box = await plot(n).boundingBox();
  await page.mouse.move(box.x + box.width * share, label.y + label.height / 2);
  await settled();
}

// Turns the wheel and waits for what it does: its events come when the browser gets to them.
async function wheel(by) {
  const before = await span();
  await page.mouse.wheel(0, by);
  await page.waitForFunction((before) => document.getElementById("window").innerText !== before, before);
  await settled();
}

async function press(...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled();
}

test("a page opens from a file and shows what ran", async () => {
  await open("one.html");
  assert.equal(await page.title(), "Timelines: basic_streams");
  assert.equal(await page.locator("#question").innerText(), "Do copies and kernels overlap?");
  assert.deepEqual(await page.locator(".labels .group").allInnerTexts(), ["engines", "streams", "host"]);
  assert.deepEqual(await labels(), ["H2D", "kernel", "D2H", "in", "compute", "out", "main"]);
  assert.equal(await span(), "0.0 – 71.0 µs (71.0 µs)");
  assert.deepEqual(await page.locator("#legend li").allInnerTexts(),
    ["H2D", "kernel", "D2H", "phase of the host", "two or more engines busy",
      "operation → one that waited for it through an event", "critical path, inferred from the times", "operation of a finding"]);
  await shot("light");
});

test("labels stand at the height of their rows and nothing is cut off", async () => {
  await open("one.html");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert.ok(wide, "the page scrolls sideways");
  for (const label of await page.locator(".labels span").all()) {
    assert.ok(await label.evaluate((span) => span.scrollWidth <= span.clientWidth), await label.innerText());
  }
  for (const [row, name] of [["H2D", "copy 1"], ["compute", "affine 1"], ["out", "copy 1"]]) {
    await point(row, row === "H2D" ? 0.1 : row === "compute" ? 0.35 : 0.6);
    assert.equal(await tooltip().locator("strong").innerText(), name);
  }
});

test("the pointer shows name, stream, start, duration, bytes and bandwidth", async () => {
  await open("one.html");
  await point("H2D", 0.4);
  assert.deepEqual(await tooltip().locator("dt, dd, strong").allInnerTexts(),
    ["copy 2", "Engine", "H2D", "Stream", "in", "Start", "20 µs", "Duration", "20.0 µs", "Bytes", "1 MiB", "Bandwidth", "52.4 GB/s"]);
  await point("compute", 0.65);
  assert.deepEqual(await tooltip().locator("dt, dd, strong, p").allInnerTexts(),
    ["affine 2", "Engine", "kernel", "Stream", "compute", "Start", "40.5 µs", "Duration", "11.5 µs", "Waited for", "copy 2 (in)",
      '1: race: "affine" writes what a copy reads']);
  await shot("light-hover");
  await point("main", 0.05);
  assert.deepEqual(await tooltip().locator("dt, dd, strong").allInnerTexts(),
    ["enqueue", "Host thread", "main", "Start", "0 ns", "Duration", "12.0 µs"]);
  await point("compute", 0.05);
  assert.ok(await tooltip().isHidden());
});

test("the wheel zooms around the pointer; dragging with Shift pans, and without it where the reader says so", async () => {
  await open("one.html");
  const whole = await painted();
  await point("kernel", 0.5);
  await wheel(-462.1);
  await shows(17.8, 53.3);
  assert.notEqual(await painted(), whole);
  const box = await plot().boundingBox();
  const dragFrom = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await settled();
  };
  await page.keyboard.down("Shift");
  await dragFrom(0.5, 0.25);
  await page.keyboard.up("Shift");
  await shows(26.6, 62.1);
  await page.getByLabel("Dragging").selectOption("moves");
  await dragFrom(0.25, 0.5);
  await shows(17.8, 53.3);
  assert.deepEqual(await measured(), [""]);
  await wheel(3000);
  await shows(0, 71.0);
});

test("keys zoom and pan, and buttons do", async () => {
  await open("one.html");
  await plot().focus();
  await press("+", "+");
  await shows(12.8, 58.2);
  await press("ArrowRight");
  await shows(17.3, 62.8);
  await press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft");
  await shows(0, 45.4);
  await press("-");
  await shows(0, 56.8);
  await press("0");
  await shows(0, 71.0);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await settled();
  await shows(17.8, 53.3);
  await page.getByRole("button", { name: "Show the whole run" }).click();
  await settled();
  await shows(0, 71.0);
});

test("keys zoom and pan before anything has the focus, W A S and D too", async () => {
  await open("one.html");
  await press("+");
  await shows(7.1, 63.9);
  await press("d");
  await shows(12.8, 69.6);
  await press("a");
  await shows(7.1, 63.9);
  await press("s", "w", "0");
  await shows(0, 71);
  await press("w");
  await shows(7.1, 63.9);
  await press("s");
  await shows(0, 71);
  await page.locator("#find").focus();
  await press("w", "a", "s", "d");
  await shows(0, 71);
  assert.equal(await page.locator("#find").inputValue(), "wasd");
});

test("the gaps are listed with their causes, and shown", async () => {
  await open("variants.html");
  const gaps = page.locator(".gaps").first();
  assert.match(await gaps.locator("summary").innerText(), /^The device was idle [\d.]+ % of the time: [\d.]+ µs in \d+ gaps?$/);
  assert.ok(!(await gaps.locator("ol").isVisible()), "they are folded");
  await gaps.locator("summary").click();
  assert.match(await gaps.locator("ul li").first().innerText(), /^[\d.]+ [nµ]s: /);
  const before = await span();
  await gaps.locator("ol button").first().click();
  await settled();
  assert.notEqual(await span(), before);
  await shot("light-gaps");
});

test("Tab goes through the operations and Escape out of them", async () => {
  await open("one.html");
  const name = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await heading("host").focus();
  await press("Tab");
  assert.match(await name(), /^Timeline, measured, NVIDIA H200: 6 operations within 71.0 µs/);
  await shot("light-focus");
  await press("Tab");
  assert.equal(await name(), "copy 1, Engine H2D, Stream in, Start 0 ns, Duration 20.0 µs, Bytes 1 MiB, Bandwidth 52.4 GB/s");
  assert.equal(await inkAround("compute", 0.6), false);
  await press("Tab", "Tab", "Tab", "Tab");
  assert.match(await name(), /^affine 2, .*Finding 1: race: "affine" writes/s);
  assert.equal(await inkAround("compute", 0.6), true, "the focus is not to be seen");
  assert.ok(await tooltip().isVisible());
  await shot("light-operation");
  await press("Shift+Tab");
  assert.match(await name(), /Start 31 µs/);
  await press("Enter");
  await shows(26.0, 56.0);
  await press("Escape");
  assert.match(await name(), /^Timeline/);
  assert.ok(await tooltip().isHidden());
  await press("Tab");
  assert.equal(await name(), "Show the operations of finding 1");
  await press("Shift+Tab", "Tab", "Tab", "Tab", "Tab", "Tab");
  assert.match(await name(), /^copy 2, .*Start 51 µs/);
  await press("Tab");
  assert.equal(await name(), "Show the operations of finding 1", "after the last operation comes what follows");
});

// Whether a colour is anywhere in a part of the canvas.
function hasColour(colour, x, y, width, height) {
  return page.locator(".plot canvas").first().evaluate((canvas, [colour, x, y, width, height]) => {
    // A copy: reading from the page's own canvas more than once makes the browser complain.
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(x, y, width ?? canvas.width, height ?? canvas.height);
    for (let i = 0; i < data.length; i += 4) if (colour.every((part, n) => data[i + n] === part)) return true;
    return false;
  }, [colour, x, y, width, height]);
}

// Whether a line in the colour of the text runs along the upper edge of what stands at a moment in a row.
async function inkAround(row, share) {
  const label = await page.locator(".labels span", { hasText: new RegExp(`^${row}$`) }).first().boundingBox();
  const box = await plot().boundingBox();
  return hasColour([0x1c, 0x24, 0x30], Math.round(share * box.width), label.y + label.height / 2 - box.y - 14, 1, 8);
}

test("races are marked and readable", async () => {
  await open("one.html");
  const report = page.locator(".findings pre");
  assert.equal(await report.innerText(),
    'race: "affine" writes what a copy reads\nbytes 0 to 1048576 of the buffer\nmissing: an event');
  assert.equal(await hasColour([0xc4, 0x16, 0x1c], 0, 0), true);
  await page.getByRole("button", { name: "Show the operations of finding 1" }).click();
  await settled();
  await shows(32.9, 71.0);
});

test("overlap and dependencies can be switched off", async () => {
  await open("one.html");
  const everything = await painted();
  await page.getByLabel("Dependencies").uncheck();
  await settled();
  const without = await painted();
  assert.notEqual(without, everything);
  await page.getByLabel("Overlap").uncheck();
  await settled();
  assert.notEqual(await painted(), without);
  await page.getByLabel("Dependencies").check();
  await page.getByLabel("Overlap").check();
  await settled();
  assert.equal(await painted(), everything);
});

test("dark is dark, and changes while the page is open", async () => {
  await open("one.html");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await painted();
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.emulateMedia({ colorScheme: "dark" });
  await settled();
  assert.equal(await ground(), "rgb(20, 24, 30)");
  assert.notEqual(await painted(), light);
  await shot("dark");
  await point("compute", 0.65);
  await shot("dark-hover");
});

test("a prediction stands above what was measured, on one scale", async () => {
  await open("two.html");
  const charts = await page.locator(".chart h3").allInnerTexts();
  assert.deepEqual(charts, ["modelled, NVIDIA H200", "measured, NVIDIA H200"]);
  const [above, below] = [await plot(0).boundingBox(), await plot(1).boundingBox()];
  assert.ok(above.y + above.height < below.y);
  assert.deepEqual([above.x, above.width], [below.x, below.width]);
  await point("out", 0.95);
  assert.ok(await tooltip().isHidden(), "the prediction is over by then");
  await point("out", 0.95, 1);
  assert.equal(await tooltip().locator("strong").innerText(), "copy 2");
  const before = await painted(0);
  await plot(1).focus();
  await press("+");
  assert.notEqual(await painted(0), before, "both move together");
  await press("0");
  await shot("light-two");
});

test("all variants of a part stand below one another on one scale, and on their own if asked", async () => {
  await open("variants.html");
  assert.deepEqual(await page.locator(".figure h2").allInnerTexts(),
    ["one stream", "three streams", "legacy stream", "24 streams", "empty"]);
  await shows(-6, 105);
  const boxes = await Promise.all([0, 1, 2].map((n) => plot(n).boundingBox()));
  assert.equal(new Set(boxes.map(({ x, width }) => `${x} ${width}`)).size, 1);
  // The second variant is over when the first has a third to go.
  await point("out", 0.95, 1);
  assert.ok(await tooltip().isHidden());
  await shot("light-variants");
  await page.getByLabel("Own scale").check();
  await settled();
  assert.equal(await span(), "0.0 – 100.0 % of each run");
  await point("out", 0.95, 1);
  assert.equal(await tooltip().locator("strong").innerText(), "copy 2");
  await shot("light-own-scale");
  await page.getByLabel("Variant").selectOption("three streams");
  await settled();
  assert.deepEqual(await page.locator(".figure h2").allInnerTexts(), ["three streams"]);
  assert.ok(await page.getByLabel("Own scale").isDisabled());
});

test("parts are chosen; an empty recording says so", async () => {
  await open("variants.html");
  const empty = page.locator(".figure", { hasText: "empty" });
  assert.equal(await empty.locator(".summary").innerText(), "nothing was recorded by the software GPU's log");
  assert.equal(await empty.locator("canvas").count(), 0);
  await page.locator("#part").selectOption("many");
  await settled();
  assert.equal(await page.locator("#question").innerText(), "What do 128 streams do?");
  assert.ok(await page.locator("#dependencies").isDisabled());
  await open("empty.html");
  assert.equal(await page.locator("#charts").innerText(), "No timeline was recorded.");
  await shot("light-empty");
});

test("many rows are one summary row until they are opened; any group can be shut", async () => {
  await open("variants.html#part=many");
  assert.deepEqual(await labels(), ["kernel", "128 streams"]);
  assert.equal(await heading("streams").getAttribute("aria-expanded"), "false");
  await point("128 streams", 0.5);
  assert.match(await tooltip().locator("strong").innerText(), /^\d+ of 128 streams busy$/);
  await shot("light-collapsed");
  await heading("streams").focus();
  await press("Enter");
  assert.equal((await labels()).length, 129);
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "streams", "the focus stays on the heading");
  await press("Enter");
  assert.equal((await labels()).length, 2);
  await open("one.html");
  await heading("streams").click();
  assert.deepEqual(await labels(), ["H2D", "kernel", "D2H", "3 streams", "main"]);
  await point("3 streams", 0.45);
  assert.equal(await tooltip().locator("strong").innerText(), "2 of 3 streams busy");
});

test("the host's calls lead to what they enqueued, and its waits to what ended them", async () => {
  await open("variants.html");
  assert.deepEqual(await labels(), ["H2D", "kernel", "D2H", "one", "main: calls"]);
  await point("main: calls", 0.008);
  assert.deepEqual(await tooltip().locator("dt, dd, strong").allInnerTexts(),
    ["cuMemcpyHtoDAsync", "Host thread", "main", "Stream", "one", "Start", "−6 µs", "Duration", "2.00 µs", "Enqueued", "copy 1 (one)"]);
  await shot("light-call");
  await point("main: calls", 0.6);
  assert.deepEqual((await tooltip().locator("strong, dd").allInnerTexts()).slice(0, 1), ["cuStreamSynchronize"]);
  assert.equal((await tooltip().locator("dd").allInnerTexts()).at(-1), "copy 2 (one)");
  assert.equal(await hasColour([0xf2, 0xd7, 0x91], 0, 0), true, "the host's wait has its colour");
  await point("one", 0.1);
  assert.match(await tooltip().innerText(), /Enqueued by\s+cuMemcpyHtoDAsync at −6 µs/);
});

test("what the host did long before the device began is there, but not in the first view", async () => {
  await open("early.html");
  await shows(-26, 105);
  await page.getByRole("button", { name: "Show the whole run" }).click();
  await settled();
  await shows(-906, 105);
});

test("a click keeps an operation and what belongs to it marked until Escape", async () => {
  await open("variants.html");
  const plain = await painted();
  await point("one", 0.1);
  await page.mouse.down();
  await page.mouse.up();
  await page.mouse.move(5, 5);
  await settled();
  assert.notEqual(await painted(), plain);
  const marked = await page.evaluate(() => [...related(state.pinned)].map((thing) => thing.name));
  assert.deepEqual(marked, ["cuMemcpyHtoDAsync"]);
  await shot("light-pinned");
  await plot().focus();
  await press("Escape");
  assert.equal(await painted(), plain);
  // Without the other arrows, those of what is pointed at are still drawn.
  await page.locator("#calls").uncheck();
  await settled();
  assert.notEqual(await painted(), plain);
});

test("C goes from an operation to its call and back, and Tab along the calls", async () => {
  await open("variants.html");
  const name = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await plot().focus();
  await press("Tab", "Tab", "c");
  assert.match(await name(), /^cuLaunchKernel, Host thread main, Stream one, .* Enqueued affine 1 \(one\)$/);
  await press("Tab");
  assert.match(await name(), /^cuMemcpyDtoHAsync, /);
  await press("c");
  assert.match(await name(), /^copy 1, Engine D2H, .* Enqueued by cuMemcpyDtoHAsync at 0 ns/);
});

// The texts that are painted on a chart.
function texts(n = 0) {
  return page.evaluate((n) => {
    const original = CanvasRenderingContext2D.prototype.fillText;
    const texts = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      texts.push(text);
      original.call(this, text, ...rest);
    };
    paint(shown[n].chart, shown[n].canvas, sceneOf(shown[n].chart));
    CanvasRenderingContext2D.prototype.fillText = original;
    return texts;
  }, n);
}

test("operations of a kind are numbered in their bars, even where their names do not fit", async () => {
  await open("variants.html");
  assert.deepEqual((await texts()).filter((text) => text.startsWith("copy")), ["copy 1", "copy 2", "copy 1", "copy 2", "copy 1", "copy 1", "copy 2", "copy 2"]);
  // At any width a bar in which a number fits has one: no name is cut so that nothing remains.
  for (const width of [1100, 1000, 900, 800, 700, 600, 500]) {
    await page.setViewportSize({ width, height: 800 });
    await settled();
    const numbered = (await texts()).filter((text) => /^(copy |affine |affi.*… )?[12]$/.test(text));
    assert.equal(numbered.length, 12, `at ${width}: ${numbered.join()}`);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await settled();
  const narrow = await texts();
  assert.ok(narrow.includes("1") && narrow.includes("2"), narrow.join());
});

test("the bound and the critical path are drawn and said", async () => {
  await open("variants.html");
  assert.ok((await texts(0)).includes("bound 61.0 µs") && (await texts(1)).includes("bound 61.0 µs"));
  assert.ok(!(await texts(2)).some((text) => text.startsWith("bound")));
  assert.equal(await page.locator(".path").first().innerText(),
    "The bound is 61.0 µs, 59.2 % of this run. The critical path has 6 operations, which run for 100 µs of 103 µs.");
  await point("one", 0.3);
  assert.match(await tooltip().innerText(), /Critical path\s+after copy 1 \(one\): order of the stream/);
  await page.mouse.move(5, 5);
  await settled();
  const before = await painted();
  await page.getByLabel("Critical path").uncheck();
  await settled();
  assert.notEqual(await painted(), before);
});

test("barriers of the legacy stream are striped across the streams", async () => {
  await open("variants.html");
  const stripes = await page.evaluate(() => {
    const { chart, canvas } = shown[2];
    const original = CanvasRenderingContext2D.prototype.fillRect;
    const striped = [];
    CanvasRenderingContext2D.prototype.fillRect = function (...box) {
      if (this.fillStyle instanceof CanvasPattern && box[2] > 0) striped.push(box);
      original.apply(this, box);
    };
    paint(chart, canvas, sceneOf(chart));
    CanvasRenderingContext2D.prototype.fillRect = original;
    const group = chart.group("streams");
    const at = (x) => Math.round(windowOf(chart).start + (x / canvas.clientWidth) * (windowOf(chart).end - windowOf(chart).start));
    return striped.map(([x, y, wide, high]) => [at(x), at(x + wide), y === group.top, y + high === group.bottom]);
  });
  assert.deepEqual(stripes, [[21_000, 41_000, true, true]]);
  assert.ok((await page.locator("#legend li").allInnerTexts()).includes("the legacy stream runs: blocking streams wait"));
});

test("a selection measures every variant, by pointer and by keyboard", async () => {
  await open("one.html");
  const box = await plot().boundingBox();
  const x = (us) => box.x + (box.width * us) / 71;
  await page.mouse.move(x(20), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(x(40), box.y + 60, { steps: 3 });
  await page.mouse.up();
  await settled();
  // A pixel is 0.07 µs.
  assert.match((await measured())[0], /^Selected (20\.0|19\.9) – (40\.0|39\.9) µs \((20\.0|19\.9|20\.1) µs\)\. Busy: H2D .*, kernel 10\.0 µs/);
  await shot("light-selection");
  await page.getByRole("button", { name: "Zoom to selection" }).click();
  await settled();
  await shows(20, 40);
  await page.getByRole("button", { name: "Clear selection" }).click();
  await settled();
  assert.deepEqual(await measured(), [""]);
  await plot().focus();
  await press("0", "Tab", "Tab", "m");
  assert.deepEqual(await measured(), ["Selected 20.0 – 40.0 µs (20.0 µs). Busy: H2D 20.0 µs (100.0 %), kernel 10.0 µs (50.0 %), " +
    "D2H 9.00 µs (45.0 %), two or more engines 19.0 µs (95.0 %)."]);
  await press("Tab", "Tab", "Tab", "Shift+M");
  assert.match((await measured())[0], /^Selected 20\.0 – 52\.0 µs/);
  await press("Escape", "Escape");
  assert.deepEqual(await measured(), [""]);
  await open("variants.html#select=20000..40000");
  assert.equal((await measured()).filter((text) => text.startsWith("Selected 20.0 – 40.0 µs")).length, 4);
});

test("a search marks names and streams and goes from one to the next", async () => {
  await open("variants.html");
  const plain = await painted();
  await page.locator("h1").click();
  await press("/");
  await page.keyboard.type("AFFINE");
  await settled();
  assert.equal(await page.locator("#found").innerText(), "56 found");
  assert.notEqual(await painted(), plain);
  await shot("light-search");
  const pinned = () => page.evaluate(() => `${state.pinned.name} ${state.pinned.stream} ${state.pinned.start}`);
  await press("Enter");
  assert.equal(await pinned(), "affine one 20500");
  await press("Enter", "Enter");
  assert.equal(await pinned(), "affine compute 20500");
  await press("Shift+Enter");
  assert.equal(await pinned(), "affine one 72500");
  await page.locator("#find").fill("non-block");
  await settled();
  assert.equal(await page.locator("#found").innerText(), "1 found");
  await page.locator("#find").fill("cuStreamSync");
  await settled();
  assert.equal(await page.locator("#found").innerText(), "1 found");
  await page.locator("#find").fill("");
  await settled();
  assert.equal(await page.locator("#found").innerText(), "");
});

test("the map moves the window by pointer and by keyboard", async () => {
  await open("one.html");
  const map = page.getByRole("slider", { name: "Shown part of the run" });
  const box = await map.boundingBox();
  const under = await plot().boundingBox();
  assert.deepEqual([box.x, box.width], [under.x, under.width]);
  await plot().focus();
  await press("+", "+", "+", "+");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 5);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 5, { steps: 3 });
  await page.mouse.up();
  await settled();
  await shows(41.9, 71);
  await map.focus();
  await press("Home");
  await shows(0, 29.1);
  await press("ArrowRight");
  await shows(2.9, 32);
  assert.match(await map.getAttribute("aria-valuetext"), /^2\.9/);
  await page.mouse.click(box.x + box.width * 0.8, box.y + 5);
  await settled();
  await shows(41.9, 71);
});

test("the address keeps the view, and gives it back", async () => {
  await open("variants.html");
  await plot().focus();
  await press("+", "+", "m");
  await heading("streams", 1).click();
  await page.locator("#find").fill("copy");
  await page.getByLabel("Overlap").uncheck();
  await page.getByLabel("Own scale").check();
  await page.waitForFunction(() => location.hash.includes("scale=own") && location.hash.includes("find=copy"));
  const [address, picture, window] = [page.url(), await painted(1), await span()];
  assert.match(address, /#part=three-way&time=-?\d+\.\.\d+&select=-?\d+\.\.\d+&find=copy&scale=own&off=overlap&shut=1\.0\.streams$/);
  const all = await measured();
  await page.goto("about:blank");
  await page.goto(address);
  await settled();
  assert.equal(await span(), window);
  assert.equal(await page.locator("#find").inputValue(), "copy");
  assert.deepEqual(await measured(), all);
  assert.ok((await labels(1)).includes("3 streams"));
  await page.mouse.move(5, 5);
  await settled();
  assert.equal(await painted(1), picture);
  await page.evaluate(() => { location.hash = "part=many&time=10..x&select=9..1&open=0.0.streams"; });
  await settled();
  assert.equal((await labels()).length, 129, "what is no time is left out, the rest is taken up");
  assert.deepEqual(await measured(), [""]);
});

test("a telephone's width holds everything", async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const name of ["variants.html", "one.html", "two.html", "variants.html#part=many&open=0.0.streams&select=1000..9000"]) {
    await open(name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways`);
    const box = await plot().boundingBox();
    assert.ok(box.width > 220, `the plot is ${box.width} wide`);
  }
  await open("variants.html");
  await shot("narrow");
  await page.emulateMedia({ colorScheme: "dark" });
  await settled();
  await shot("narrow-dark");
});

test("on a touch screen a finger moves the window", async () => {
  const context = await browser.newContext({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  const touched = await context.newPage();
  await touched.goto(pathToFileURL(path.join(process.env.PAGES, "one.html")).href);
  assert.equal(await touched.getByLabel("Dragging").inputValue(), "pan");
  await context.close();
});

test("names from a file stay text", async () => {
  await open("hostile.html");
  assert.equal(await page.title(), "Timelines: basic_streams");
  assert.equal(await page.locator("img, b[onclick]").count(), 0);
  await point("H2D", 0.1);
  assert.equal(await tooltip().locator("strong").innerText(), "</script><script>document.title = 'taken'</script>");
});

test("a large page is packed, and says the same", async () => {
  await open("large.html");
  assert.equal(await page.locator("#data").getAttribute("type"), "application/gzip");
  assert.ok((await page.content()).length < 4e6, "60,000 operations take less than 4 MB");
  assert.match(await page.locator(".summary").innerText(), /^60000 operations within 20\.0 ms/);
  await point("compute", 0.5);
  await press("0");
  await page.locator("#find").fill("affine");
  assert.equal(await page.locator("#found").innerText(), "20000 found");
});

test("arrows between the same pixels are painted once", async () => {
  await open("large.html");
  const [lines, arrows] = await page.evaluate(() => {
    const { chart, canvas } = shown[0];
    chart.connected = { enqueued: [], waited: chart.operations.slice(1).map((operation, n) => [chart.operations[n], operation]) };
    const original = Path2D.prototype.moveTo;
    let count = 0;
    Path2D.prototype.moveTo = function (...at) {
      count += 1;
      original.apply(this, at);
    };
    paint(chart, canvas, { ...sceneOf(chart), critical: false });
    Path2D.prototype.moveTo = original;
    return [count, chart.pairs.waited.length];
  });
  assert.equal(arrows, 59_999);
  // Each arrow is a line and a head.
  assert.ok(lines > 1_000 && lines < arrows, `${lines} lines and heads`);
});

test("of thirty thousand operations no more are painted than there are pixels", async () => {
  await open("many.html");
  await shot("light-many");
  const rectangles = await page.evaluate(() => {
    const original = CanvasRenderingContext2D.prototype.fillRect;
    let count = 0;
    CanvasRenderingContext2D.prototype.fillRect = function (...box) {
      count += 1;
      original.apply(this, box);
    };
    paint(shown[0].chart, shown[0].canvas, sceneOf(shown[0].chart));
    CanvasRenderingContext2D.prototype.fillRect = original;
    return count;
  });
  const { width } = await plot().boundingBox();
  assert.ok(rectangles > width && rectangles < 8 * width, `${rectangles} rectangles`);
  await point("kernel", 0.5);
  for (let n = 0; n < 8; n += 1) await wheel(-600);
  await point("kernel", 0.5);
  await point("kernel", 0.51);
  await shot("light-many-zoomed");
  assert.match(await span(), /^4\.99\d+ – 5\.00\d+ ms \(\d\.\d+ µs\)$/);
});
