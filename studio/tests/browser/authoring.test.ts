// Editing with tools and arguments, adding nodes on edges, expressions with history: in a real browser.
import type { Browser, Page } from "playwright-core";
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

const text = (page: Page) => page.locator(".cm-content");

test("a tool is picked from a searchable list, and its arguments are a form", async () => {
  const { page, errors } = await open(browser, `${tram.url}/documents/order.yaml?node=price`);
  await page.locator('[data-node="price"][data-chosen]').waitFor();
  await page.getByRole("textbox", { name: "New node" }).fill("keep");
  await page.getByRole("combobox", { name: "Tool" }).fill("write");
  await page.getByRole("option", { name: /builtin:write-file/ }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("option", { name: /builtin:write-file/ }).click();
  await page.getByRole("button", { name: "Add after price" }).click();
  await page.locator('[data-node="keep"]').click();
  const form = page.getByRole("group", { name: "Arguments of builtin:write-file" });
  await form.getByLabel(/^path/).fill("kept.txt");
  await form.getByLabel(/^content/).fill("$.price.total");
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Apply" }).click();
  await text(page).getByText("kept.txt").first().waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a node is added at an edge", async () => {
  const { page } = await open(browser, `${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  await page.locator(".graph").hover();
  await page.getByRole("button", { name: "Add a node after guess" }).click();
  expect(await page.getByRole("textbox", { name: "New node" }).evaluate((input) => input === document.activeElement)).toBe(true);
  await page.getByRole("button", { name: "Add after guess" }).waitFor();
  await page.context().close();
});

test("long lines are wrapped", async () => {
  const { page } = await open(browser, `${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  const wide = await page.locator(".cm-scroller").evaluate((scroller) => scroller.scrollWidth - scroller.clientWidth);
  expect(wide).toBeLessThanOrEqual(1);
  await page.context().close();
});

test("an expression of a step is tried in the playground, completed and kept in the history", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`);
  await page.locator('[data-node="price"]').click();
  await page.getByRole("link", { name: "Try the expression" }).click();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("15", { exact: true }).first().waitFor();
  const field = page.getByRole("textbox", { name: "Expression" });
  await field.fill("$sum([entry.amount, 1])");
  await result.getByText("6", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "History" }).click({ timeout: 15_000 });
  await page.getByRole("menuitem", { name: /\$sum\(\[entry\.amount, 1\]\)/ }).waitFor();
  await page.keyboard.press("Escape");
  expect(await barriers(page)).toEqual([]);
  await field.fill("");
  await field.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "entry" }).first().waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("breakpoints and watch expressions are kept per workflow", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" }, breakpoints: [{ node: "both" }] });
  await tram.until(run, "paused");
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`);
  await page.getByLabel("Watch an expression").fill("price.total * 2");
  await page.getByRole("button", { name: "Watch", exact: true }).click();
  await page.getByRole("group", { name: "Value of price.total * 2" }).getByText("30").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="small"]').click();
  await page.keyboard.press("b");
  await page.locator('[data-node="small"] .break[data-on="always"]').waitFor();
  expect(await barriers(page)).toEqual([]);
  // Another run of the workflow, in the past, has the same watch.
  const other = await tram.start("order", { input: { amount: 6, name: "Bea" } });
  await tram.until(other, "completed");
  const { events } = await tram.ask<{ events: number }>("GET", `/api/runs/${other}`);
  await page.goto(`${tram.url}/runs/${other}?seq=${events - 1}`);
  await page.getByRole("group", { name: "Value of price.total * 2" }).getByText("36").waitFor();
  await page.goto(`${tram.url}/tools/order`);
  await page.getByText("Run options").click();
  await page.getByRole("button", { name: /Use the last breakpoints: .*small/ }).click();
  expect(await page.getByLabel("Node of breakpoint 1").inputValue()).toBe("both");
  expect(errors).toEqual([]);
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.context().close();
});
