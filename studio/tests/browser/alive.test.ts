// A live run moves, graphs can be read, panes are remembered, and everything is found by keys.
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml", "studio/tests/browser/slow.yaml", "examples/graphs/items.yaml", "examples/sop/retail/retail.md", "examples/sop/incident/incident.md"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

async function opened(run: string): Promise<{ page: Page; errors: string[] }> {
  const found = await open(browser, `${tram.url}/runs/${run}`);
  await found.page.waitForSelector(".node");
  return found;
}

/** The smallest text of the nodes in view, in pixels on the screen. */
const smallest = (page: Page) =>
  page.evaluate(() => {
    const zoom = new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")!).transform).a;
    const sizes = [...document.querySelectorAll(".node .label, .node .detail, .way-label, .band span")].map((one) => Number.parseFloat(getComputedStyle(one).fontSize));
    return Math.min(...sizes) * zoom;
  });

test("the clock of a live run, its node and its timeline move between events", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 3_600_000 } });
  const { page, errors } = await opened(run);
  await page.locator('[data-node="stock"][data-status="waiting"]').waitFor({ state: "attached" });
  for (const moves of ["run-clock", "ticking"]) {
    const before = await page.getByTestId(moves).first().textContent();
    await expect.poll(() => page.getByTestId(moves).first().textContent(), { timeout: 10_000 }).not.toBe(before);
  }
  // A finished node has its time, and keeps its tool or expression.
  const price = page.locator('[data-node="price"]');
  expect(await price.textContent()).toContain("ms");
  expect(await price.textContent()).toContain("entry.amount");
  // The timeline grows: its canvas is painted again.
  const picture = () => page.locator("canvas").evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  const drawn = await picture();
  await expect.poll(async () => (await picture()) !== drawn, { timeout: 10_000 }).toBe(true);
  expect(await barriers(page)).toEqual([]);
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.locator('[data-node="stock"][data-status="stopped"]').waitFor({ state: "attached" });
  expect(errors).toEqual([]);
  await page.context().close();
});

test("starting a server is a visible, timed phase", async () => {
  const run = await tram.start("slow", { input: {} });
  const { page, errors } = await opened(run);
  await page.locator(".run-head").getByText("starting server sleepy…").waitFor();
  const call = page.locator('[data-node="call"][data-status="starting"]');
  await call.waitFor();
  const before = await call.getByTestId("ticking").textContent();
  await expect.poll(() => call.getByTestId("ticking").textContent(), { timeout: 10_000 }).not.toBe(before);
  expect(await call.textContent()).toContain("starting its server");
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  expect(errors).toEqual([]);
  await page.context().close();
});

test("waiting for a person, a timer and a branch that was not taken look different", async () => {
  const run = await tram.start("order", { input: { amount: 60, name: "Bob" } });
  await tram.until(run, "paused");
  const { page } = await opened(run);
  const asks = page.locator('[data-node="write"][data-status="asking"]');
  await asks.waitFor();
  expect(await asks.textContent()).toContain("waiting for you");
  // The node that waits is in view, and requires approval by a badge.
  const box = (await asks.boundingBox())!;
  const frame = (await page.locator(".graph").boundingBox())!;
  expect(box.y).toBeGreaterThanOrEqual(frame.y);
  expect(box.y + box.height).toBeLessThanOrEqual(frame.y + frame.height);
  expect(await asks.textContent()).toContain("requires approval");
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.context().close();
});

test("a node that runs once per item counts its items", async () => {
  const run = await tram.start("file_sizes", { input: { directory: "." } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  await expect.poll(() => page.locator('[data-node="sizes"]').textContent(), { timeout: 10_000 }).toMatch(/\d+ of \d+ items/);
  await page.context().close();
});

test.each([["/documents/order.yaml"], ["/documents/retail.md"], ["/documents/incident.md"], ["/tools/order"]])("text of a graph has at least 11 pixels at first sight: %s", async (path) => {
  const { page } = await open(browser, tram.url + path);
  await page.waitForSelector(".node");
  await expect.poll(() => smallest(page)).toBeGreaterThanOrEqual(10.99);
  // Everything can still be seen at once, and back.
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("button", { name: /readable size/ }).click();
  await expect.poll(() => smallest(page)).toBeGreaterThanOrEqual(10.99);
  await page.context().close();
});

test("far away only names are shown, and the direction of graphs is remembered", async () => {
  const { page } = await open(browser, `${tram.url}/documents/retail.md`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator(".graph[data-far]").waitFor();
  expect(await page.locator(".node .detail").first().isVisible()).toBe(false);
  await page.getByRole("button", { name: /draw left to right/ }).click();
  await page.getByRole("button", { name: /draw top down/ }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: /draw top down/ }).waitFor();
  await page.context().close();
});

test("panes are resized by keys and keep their size", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  const border = page.getByRole("separator", { name: "Width of the details" });
  const before = Number(await border.getAttribute("aria-valuenow"));
  await border.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  expect(Number(await border.getAttribute("aria-valuenow"))).toBe(before + 48);
  await page.reload();
  await expect.poll(async () => Number(await border.getAttribute("aria-valuenow"))).toBe(before + 48);
  await page.context().close();
});

test("Ctrl+K finds pages, workflows and runs by their input, and ? lists the keys", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Quentin" } });
  await tram.until(run, "completed");
  const { page, errors } = await open(browser, tram.url);
  await page.locator(".workflow").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).fill("quentin");
  await page.getByRole("option", { name: /order/ }).first().waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(run));
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("home answers a question, and shows workflows with picture, success and Run", async () => {
  const run = await tram.start("order", { input: { amount: 60, name: "Bob" } });
  await tram.until(run, "paused");
  const { page, errors } = await open(browser, tram.url);
  const needs = page.getByRole("region", { name: "Needs you" });
  const card = needs.locator("li", { hasText: "write-file" });
  await card.getByRole("group", { name: "Arguments" }).waitFor();
  await page.getByRole("region", { name: "Running now" }).getByText("order").first().waitFor();
  const workflow = page.locator(".workflow", { hasText: "Take an order" });
  await workflow.locator("svg.mini-graph rect").first().waitFor();
  await workflow.getByText("% ok").waitFor();
  await page.getByRole("region", { name: "Procedures" }).getByText("retail.md").first().waitFor();
  expect(await barriers(page)).toEqual([]);
  await card.getByRole("button", { name: "Approve" }).click();
  await tram.until(run, "completed");
  await card.waitFor({ state: "detached" });
  await workflow.getByRole("link", { name: "Run Take an order" }).click();
  await page.getByRole("heading", { name: "Take an order" }).waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a run is started again with another input, copied as a command, and opened at its source", async () => {
  const run = await tram.start("order", { input: { amount: 7, name: "Ann" } });
  await tram.until(run, "completed");
  const { page, errors } = await opened(run);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("menuitem", { name: /Copy as command/ }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toContain("tramline run");
  expect(command).toContain(`'{"amount":7,"name":"Ann"}'`);
  await page.getByRole("button", { name: "Run again" }).click();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("menuitem", { name: /another input/ }).click();
  await page.getByText("Filled in from an earlier run.").waitFor();
  expect(await page.getByLabel(/^amount/).inputValue()).toBe("7");
  await page.goBack();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="both"]').click();
  await page.getByRole("link", { name: "Source" }).click();
  await page.locator(".cm-node-lines", { hasText: "id: both" }).first().waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a run is saved as one HTML file with time travel that needs no server", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "</script><b>Ann" } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("menuitem", { name: /Save as web page/ }).click();
  const path = await (await coming).path();
  expect(readFileSync(path, "utf8")).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
  const alone = await browser.newPage();
  const wrong: string[] = [];
  alone.on("pageerror", (error) => wrong.push(String(error)));
  alone.on("request", (request) => !request.url().startsWith("file:") && wrong.push(request.url()));
  await alone.setContent(readFileSync(path, "utf8"));
  await alone.locator('[data-node="exit"][data-state="succeeded"]').waitFor();
  await alone.getByRole("slider").fill("3");
  await alone.locator('[data-node="exit"][data-state="idle"]').waitFor();
  expect(await alone.locator("details").count()).toBeGreaterThan(5);
  expect(await alone.locator("b", { hasText: "Ann" }).count()).toBe(0);
  expect(wrong).toEqual([]);
  await alone.close();
  await page.context().close();
});

test("messages about a field are gone once it is corrected", async () => {
  const { page } = await open(browser, `${tram.url}/tools/order`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator('[data-pointer="/name"] .wrong').waitFor();
  await page.getByLabel(/^name/).fill("Ann");
  await page.locator('[data-pointer="/name"] .wrong').waitFor({ state: "detached" });
  expect(await page.getByLabel(/^name/).getAttribute("aria-invalid")).toBeNull();
  await page.context().close();
});

test("on a phone a decision comes first, and nothing is wider than the screen", async () => {
  const run = await tram.start("order", { input: { amount: 60, name: "Bob" } });
  await tram.until(run, "paused");
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`, false, { width: 390, height: 844 });
  await page.waitForSelector(".node");
  const question = (await page.getByRole("region", { name: "Question" }).boundingBox())!;
  const graph = (await page.locator(".graph").boundingBox())!;
  expect(question.y).toBeLessThan(graph.y);
  const wider = () => page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth);
  expect(await wider()).toBeLessThanOrEqual(0);
  expect(await barriers(page)).toEqual([]);
  for (const path of ["", "/tools", "/runs", "/inbox", "/documents/order.yaml", "/playground", `/playground?run=${run}`, "/compare"]) {
    await page.goto(tram.url + path);
    await page.locator("h1").first().waitFor({ state: "attached" });
    await page.waitForLoadState("networkidle");
    expect(await wider(), path).toBeLessThanOrEqual(0);
    expect(await barriers(page), path).toEqual([]);
  }
  expect(errors).toEqual([]);
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.context().close();
});
