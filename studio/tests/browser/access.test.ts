// A server that requires a token: the page asks for it once, and shows nothing before. A studio generates its own key.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startStudio, studio, type Studio } from "./binary";
import { barriers, launch, open, persistent } from "./chromium";

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
  await page.getByText("not valid").waitFor();
  await field.fill(TOKEN);
  await page.getByRole("button", { name: "Open" }).click();
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator(".run-head .status", { hasText: "completed" }).waitFor();
  expect(page.url()).not.toContain("token");
  await page.context().close();
});

test("the printed URL opens one page, and the key is in no URL", async () => {
  const { own, stop } = await startStudio(["studio/tests/browser/order.yaml"]);
  // With its own profile on disk, as a person has it.
  const profile = mkdtempSync(join(tmpdir(), "studio-profile-"));
  const context = await persistent(profile);
  try {
    const page = await context.newPage();
    const addresses: string[] = [];
    page.on("framenavigated", (frame) => addresses.push(frame.url()));
    page.on("request", (request) => addresses.push(request.url()));
    await page.goto(own);
    await page.getByRole("link", { name: "Documents" }).click();
    await page.getByRole("link", { name: "order.yaml" }).click();
    await page.waitForSelector(".node");
    expect(page.url()).toBe(`${own.split("#")[0]}/documents/order.yaml`);
    const key = await page.evaluate(() => sessionStorage.getItem("tramline-token"));
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(addresses.filter((address) => address.includes(key!))).toEqual([]);
    // Going back leads to no URL with the code.
    await page.goBack();
    await page.goBack();
    expect(page.url()).toBe(own.split("#")[0]);
    const again = await context.newPage();
    await again.goto(own);
    await again.getByText("was used before, or has expired").waitFor();
    await again.getByLabel("Token").waitFor();
    expect(again.url()).toBe(own.split("#")[0]);
    expect(await barriers(again)).toEqual([]);
    await again.getByRole("button", { name: "Print a new address" }).click();
    await again.getByText("Start `tramline studio` again").waitFor();
    await context.close();
    const history = readFileSync(join(profile, "Default/History"));
    expect(history.includes(new URL(own).host)).toBe(true);
    expect(history.includes(key!)).toBe(false);
  } finally {
    await context.close();
    await stop();
    rmSync(profile, { recursive: true, force: true });
  }
});

test("a studio's own URL opens the page, and no other does", async () => {
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
