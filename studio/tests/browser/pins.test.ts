// Pinned outputs in a real browser: a node that is not run, in a live run and in later ones.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

test("the output of a step is pinned, and the next run uses it", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="price"]').click();
  await page.getByRole("button", { name: "Pin the output" }).click();
  await page.getByText("The output of price is pinned").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("menuitem", { name: /With 1 pinned output/ }).click();
  await page.getByText("do not run price").waitFor();
  expect(await page.getByRole("checkbox", { name: /do not run price/ }).isChecked()).toBe(true);
  expect(await barriers(page)).toEqual([]);
  // The price stays that of five, whatever is ordered.
  await page.getByLabel(/^amount/).fill("90");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/runs\/run_/);
  await page.locator('[data-status="completed"]').first().waitFor();
  const again = new URL(page.url()).pathname.split("/").pop()!;
  expect(again).not.toBe(run);
  const { steps } = await tram.ask<{ steps: unknown[] }>("GET", `/api/runs/${again}/timeline`);
  expect(steps.length).toBeGreaterThan(5);
  const at = await tram.ask<{ value?: unknown }>("POST", "/api/eval", { language: "jsonata", expression: "price.total", run_id: again });
  expect(at.value).toBe(15);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("an output is written by hand for a run that is halted, and shown on the node", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Bob" }, pause_at_start: true });
  const { page } = await open(browser, `${tram.url}/runs/${run}`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="both"]').click();
  await page.getByText("Pin an output…").click();
  const form = page.getByRole("form", { name: "Pinned output" });
  await form.getByRole("textbox").fill("{");
  await form.getByText("This is not valid JSON.").waitFor();
  await form.getByRole("textbox").fill('{ "total": 500, "name": "made up" }');
  await form.getByRole("button", { name: "Pin", exact: true }).click();
  await page.locator('[data-break="both"][data-on="pinned"]').waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator('[data-node="write"][data-status="asking"]').waitFor();
  // The large order asks now.
  const { questions } = await tram.until(run, "paused");
  expect(questions[0]!.node).toBe("write");
  await page.context().close();
});
