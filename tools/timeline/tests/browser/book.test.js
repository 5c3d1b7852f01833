// The book in headless Chromium: every page opens without a complaint and shows its figures, and no page is wider than a phone.
// The folder BOOK holds what `make book` writes.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const book = process.env.BOOK;
let browser;

before(async () => {
  // Where CI runs as root, Chromium's own sandbox cannot.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
});

after(() => browser?.close());

function pages() {
  const all = readdirSync(book, { recursive: true }).filter((file) => file.endsWith(".html") && file !== "toc.html");
  assert.ok(all.length > 20, `${all.length} pages`);
  return all;
}

// Opens a page. Returns it, and what the browser complains about.
async function open(file, width) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints = [];
  page.on("console", (message) => complaints.push(`${file}: console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`${file}: error: ${error}`));
  page.on("requestfailed", (request) => complaints.push(`${file}: failed: ${request.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) complaints.push(`${file}: request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(path.join(book, file)).href);
  return [page, complaints];
}

test("every page opens and shows its figures", async () => {
  for (const file of pages()) {
    const [page, complaints] = await open(file, 1200);
    const missing = await page.evaluate(() =>
      [...document.querySelectorAll("main img")].filter((image) => image.naturalWidth === 0).map((image) => image.src),
    );
    assert.deepEqual(missing, [], file);
    assert.ok(await page.locator("main h1").count(), file);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("no page is wider than a phone", async () => {
  for (const file of pages()) {
    const [page] = await open(file, 390);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${file} is ${width} pixels wide`);
    await page.close();
  }
});

test("the search finds a term", async () => {
  const [page, complaints] = await open("index.html", 1200);
  await page.keyboard.press("s");
  await page.keyboard.type("page-locked");
  await page.locator("#mdbook-searchresults li a, #searchresults li a").first().waitFor();
  assert.deepEqual(complaints, []);
  await page.close();
});
