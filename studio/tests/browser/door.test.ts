// A server that asks for a token: the page asks for it once, and shows nothing before. A studio makes its own.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

const TOKEN = "a token for this test alone";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml"], TOKEN);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

test("a wrong token is asked for again, the right one opens the page and its stream of events", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 1_000 }, pause_at_start: true });
  const { page } = await open(browser, `${tram.url}/runs/${run}`);
  const field = page.getByLabel("Token");
  await field.waitFor();
  expect(await page.locator(".node").count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await field.fill("wrong");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("not the one").waitFor();
  await field.fill(TOKEN);
  await page.getByRole("button", { name: "Open" }).click();
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator(".run-head .status", { hasText: "completed" }).waitFor();
  expect(page.url()).not.toContain("token");
  await page.context().close();
});

test("a studio's own address opens the page, and nobody else does", async () => {
  const own = await studio(["studio/tests/browser/order.yaml"]);
  try {
    const { page, errors } = await open(browser, `${own.url}/documents/order.yaml`);
    await page.waitForSelector(".node");
    expect(page.url()).toBe(`${own.url}/documents/order.yaml`);
    expect(errors).toEqual([]);
    await page.context().close();
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(`${own.url}/documents/order.yaml`);
    await stranger.getByLabel("Token").waitFor();
    expect(await stranger.locator(".node").count()).toBe(0);
    for (const shown of [new Headers(), new Headers({ authorization: "Bearer x" })]) {
      const reply = await fetch(new URL("/api/documents", own.url), { headers: shown });
      expect(reply.status).toBe(401);
    }
    await stranger.context().close();
  } finally {
    await own.stop();
  }
});
