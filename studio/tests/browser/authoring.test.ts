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
  // The text is at the node's lines.
  await page.locator(".cm-node-lines", { hasText: "id: price" }).waitFor();
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

test("a kind is dragged from the palette onto an edge, and a call asks for its tool", async () => {
  const { page, errors } = await open(browser, `${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Show all" }).click();
  const kinds = page.getByRole("group", { name: /Kinds of nodes/ });
  await kinds.getByRole("button", { name: "wait", exact: true }).dragTo(page.getByRole("button", { name: "Add a node after small" }));
  await page.locator('[data-node="wait"]').waitFor();
  // It is between the two nodes of the edge, in the text too.
  await page.locator('[data-edge="small>wait"]').waitFor({ state: "attached" });
  await page.locator('[data-edge="wait>exit"]').waitFor({ state: "attached" });
  await kinds.getByRole("button", { name: "call", exact: true }).dragTo(page.locator('[data-node="seen"]'));
  await page.getByRole("button", { name: "Add after seen" }).waitFor();
  const tool = page.getByRole("combobox", { name: "Tool" });
  expect(await tool.evaluate((input) => input === document.activeElement)).toBe(true);
  expect(await page.getByRole("textbox", { name: "New node" }).inputValue()).toBe("call");
  expect(await barriers(page)).toEqual([]);
  // By keyboard: a kind fills in the form.
  await kinds.getByRole("button", { name: "compute" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Expression" }).waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("the rule of a switch is built from rows, in words and as JSON Logic", async () => {
  const { page, errors } = await open(browser, `${tram.url}/documents/order.yaml?node=large`);
  const rule = page.getByRole("group", { name: "Rule 1" });
  await rule.getByText("both.total is more than 100").waitFor();
  await rule.getByLabel("Comparison").selectOption("is at least");
  await rule.getByLabel("Value to compare with").fill("250");
  await rule.getByRole("button", { name: "and…" }).click();
  await rule.getByLabel("Value that is read").nth(1).fill("entry.name");
  await rule.getByLabel("Comparison").nth(1).selectOption("is not");
  await rule.getByLabel("Value to compare with").nth(1).fill("Ann");
  await rule.getByText("both.total is at least 250 and entry.name is not “Ann”").waitFor();
  await rule.getByText("JSON Logic", { exact: true }).click();
  expect(JSON.parse((await rule.locator("pre").textContent()) ?? "")).toEqual({ and: [{ ">=": [{ var: "both.total" }, 250] }, { "!=": [{ var: "entry.name" }, "Ann"] }] });
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Apply" }).click();
  await text(page).getByText(/250/).first().waitFor();
  await page.getByRole("region", { name: "Problems" }).getByText("No problems.").waitFor();
  // The edge says the same.
  await page.locator(".way-label", { hasText: "both.total ≥ 250" }).waitFor({ state: "attached" });
  expect(errors).toEqual([]);
  await page.context().close();
});

test("hovering a word explains it", async () => {
  const { page } = await open(browser, `${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  const doc = page.locator(".cm-hover-doc");
  const word = (line: string, part: string) => page.locator(".cm-line", { hasText: line }).first().locator("span", { hasText: part }).first();
  await word("on-error: guess", "on-error").hover();
  await doc.getByText("on-error", { exact: true }).waitFor();
  expect((await doc.textContent())!.length).toBeGreaterThan(20);
  await page.mouse.move(5, 5);
  await doc.waitFor({ state: "detached" });
  await page.context().close();
});
