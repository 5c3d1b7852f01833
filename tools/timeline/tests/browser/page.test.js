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
  await page.goto(pathToFileURL(path.join(process.env.PAGES, name)).href);
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
const plot = (n = 0) => page.locator(".plot").nth(n);
const painted = (n = 0) => page.locator("canvas").nth(n).evaluate((canvas) => canvas.toDataURL());

// The window of time is this, to the last digit that is shown.
async function shows(start, end) {
  const found = (await span()).match(/^([\d.]+) – ([\d.]+) µs \(/)?.slice(1).map(Number) ?? [];
  assert.ok(Math.abs(found[0] - start) < 0.11 && Math.abs(found[1] - end) < 0.11, `${await span()} instead of ${start} to ${end} µs`);
}

// Moves the pointer to a moment in the row that is called so, of the first or of another timeline.
async function point(row, share, n = 0) {
  const chart = page.locator(".chart").nth(n);
  const label = await chart.locator(".labels span:not(.group)", { hasText: new RegExp(`^${row}$`) }).boundingBox();
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
  const labels = await page.locator(".labels span").allInnerTexts();
  assert.deepEqual(labels, ["engines", "H2D", "kernel", "D2H", "streams", "in", "compute", "out", "host", "main"]);
  assert.equal(await span(), "0.0 – 71.0 µs (71.0 µs)");
  assert.deepEqual(await page.locator("#legend li").allInnerTexts(),
    ["H2D", "kernel", "D2H", "phase of the host", "two or more engines busy"]);
  await shot("light");
});

test("labels stand at the height of their rows and nothing is cut off", async () => {
  await open("one.html");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert.ok(wide, "the page scrolls sideways");
  for (const label of await page.locator(".labels span").all()) {
    assert.ok(await label.evaluate((span) => span.scrollWidth <= span.clientWidth), await label.innerText());
  }
  for (const [row, name] of [["H2D", "copy"], ["compute", "affine"], ["out", "copy"]]) {
    await point(row, row === "H2D" ? 0.1 : row === "compute" ? 0.35 : 0.6);
    assert.equal(await tooltip().locator("strong").innerText(), name);
  }
});

test("the pointer shows name, stream, start, duration, bytes and bandwidth", async () => {
  await open("one.html");
  await point("H2D", 0.4);
  assert.deepEqual(await tooltip().locator("dt, dd, strong").allInnerTexts(),
    ["copy", "Engine", "H2D", "Stream", "in", "Start", "20 µs", "Duration", "20.0 µs", "Bytes", "1 MiB", "Bandwidth", "52.4 GB/s"]);
  await point("compute", 0.65);
  assert.deepEqual(await tooltip().locator("dt, dd, strong, p").allInnerTexts(),
    ["affine", "Engine", "kernel", "Stream", "compute", "Start", "40.5 µs", "Duration", "11.5 µs", "Waited for", "copy (in)",
      '1: race: "affine" writes what a copy reads']);
  await shot("light-hover");
  await point("main", 0.05);
  assert.deepEqual(await tooltip().locator("dt, dd, strong").allInnerTexts(),
    ["enqueue", "Host thread", "main", "Start", "0 ns", "Duration", "12.0 µs"]);
  await point("compute", 0.05);
  assert.ok(await tooltip().isHidden());
});

test("the wheel zooms around the pointer and dragging pans", async () => {
  await open("one.html");
  const whole = await painted();
  await point("kernel", 0.5);
  await wheel(-462.1);
  await shows(17.8, 53.3);
  assert.notEqual(await painted(), whole);
  await page.mouse.down();
  const box = await plot().boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await settled();
  await shows(26.6, 62.1);
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

test("Tab goes through the operations and Escape out of them", async () => {
  await open("one.html");
  const name = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await page.locator("#dependencies").focus();
  await press("Tab");
  assert.match(await name(), /^Timeline, measured, NVIDIA H200: 6 operations within 71.0 µs/);
  await shot("light-focus");
  await press("Tab");
  assert.equal(await name(), "copy, Engine H2D, Stream in, Start 0 ns, Duration 20.0 µs, Bytes 1 MiB, Bandwidth 52.4 GB/s");
  assert.equal(await inkAround("compute", 0.6), false);
  await press("Tab", "Tab", "Tab", "Tab");
  assert.match(await name(), /^affine, .*Finding 1: race: "affine" writes/s);
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
  assert.match(await name(), /^copy, .*Start 51 µs/);
  await press("Tab");
  assert.equal(await name(), "Show the operations of finding 1", "after the last operation comes what follows");
});

// Whether a colour is anywhere in a part of the canvas.
function hasColour(colour, x, y, width, height) {
  return page.locator("canvas").first().evaluate((canvas, [colour, x, y, width, height]) => {
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
  const label = await page.locator(".labels span:not(.group)", { hasText: new RegExp(`^${row}$`) }).first().boundingBox();
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
  const charts = await page.locator(".chart h2").allInnerTexts();
  assert.deepEqual(charts, ["modelled, NVIDIA H200", "measured, NVIDIA H200"]);
  const [above, below] = [await plot(0).boundingBox(), await plot(1).boundingBox()];
  assert.ok(above.y + above.height < below.y);
  assert.deepEqual([above.x, above.width], [below.x, below.width]);
  await point("out", 0.95);
  assert.ok(await tooltip().isHidden(), "the prediction is over by then");
  await point("out", 0.95, 1);
  assert.equal(await tooltip().locator("strong").innerText(), "copy");
  const before = await painted(0);
  await plot(1).focus();
  await press("+");
  assert.notEqual(await painted(0), before, "both move together");
  await press("0");
  await shot("light-two");
});

test("part and variant are chosen; an empty recording says so", async () => {
  await open("one.html");
  await page.getByLabel("Variant").selectOption({ label: "crowd" });
  await settled();
  assert.equal(await page.locator(".labels span").count(), 2 + 1 + 24);
  assert.ok(await page.locator("#dependencies").isDisabled());
  await shot("light-crowd");
  await page.getByLabel("Variant").selectOption({ label: "empty" });
  await settled();
  assert.equal(await page.locator(".summary").innerText(), "nothing was recorded by the software GPU's log");
  assert.equal(await page.locator("canvas").count(), 0);
  await open("empty.html");
  assert.equal(await page.locator("#charts").innerText(), "No timeline was recorded.");
  await shot("light-empty");
});

test("names from a file stay text", async () => {
  await open("hostile.html");
  assert.equal(await page.title(), "Timelines: basic_streams");
  assert.equal(await page.locator("img, b[onclick]").count(), 0);
  await point("H2D", 0.1);
  assert.equal(await tooltip().locator("strong").innerText(), "</script><script>document.title = 'taken'</script>");
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
    paint(shown[0].chart, document.querySelector("canvas"), { view, colours, pointed, pointer, overlap: true, dependencies: true });
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
