// A run in a real browser against the real binary: watch, inspect, answer, halt, step, travel, fork.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml", "studio/tests/browser/complain.yaml"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const status = (page: Page, node: string, state: string) => page.locator(`[data-node="${node}"][data-status="${state}"]`).waitFor();
const said = (page: Page, words: string) => page.locator(".run-head .status", { hasText: words }).waitFor();

async function opened(run: string, more = ""): Promise<{ page: Page; errors: string[] }> {
  const found = await open(browser, `${tram.url}/runs/${run}${more}`);
  await found.page.waitForSelector(".node");
  // Every node can be clicked, wherever it is.
  await found.page.getByRole("button", { name: "Show all" }).click();
  return found;
}

test("a run is shown live", async () => {
  // It halts until the page is watching, and then takes a while.
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 3000 }, pause_at_start: true });
  const { page, errors } = await opened(run);
  await said(page, "Paused");
  await tram.ask("POST", `/api/runs/${run}/continue`, {});
  await status(page, "stock", "waiting");
  await status(page, "price", "succeeded");
  await status(page, "exit", "succeeded");
  await status(page, "look", "failed");
  await said(page, "completed");
  await status(page, "write", "skipped");
  expect(await page.locator('[data-edge="large>small"][data-taken]').count()).toBe(1);
  expect(await page.locator('[data-edge="look>guess"][data-taken]').count()).toBe(1);
  expect(await page.locator('[data-edge="large>write"][data-taken]').count()).toBe(0);
  await page.getByTestId("said").filter({ hasText: "completed" }).waitFor({ state: "attached" });
  // Layers are bands, and branches of one layer are next to each other.
  expect(await page.locator(".band").count()).toBeGreaterThan(4);
  const [left, right] = [await page.locator('[data-node="price"]').boundingBox(), await page.locator('[data-node="stock"]').boundingBox()];
  expect(Math.abs(left!.y - right!.y)).toBeLessThan(2);
  expect(await barriers(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a step is inspected: input, output, why this branch", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page, errors } = await opened(run);
  await page.locator('[data-node="large"]').click();
  await page.getByText("Why this branch").waitFor();
  const why = page.locator(".why");
  expect(await why.textContent()).toContain("both.total");
  expect(await why.textContent()).toContain("15");
  await page.locator('[data-node="look"]').click();
  await page.getByRole("group", { name: "Error" }).waitFor();
  expect(await page.getByRole("group", { name: "Error" }).textContent()).toContain("no-such-file.txt");
  expect(await page.getByRole("group", { name: "Input", exact: true }).textContent()).toContain("no-such-file.txt");
  expect(page.url()).toMatch(/\/steps\/\d+$/);
  expect(await barriers(page)).toEqual([]);
  // The URL alone leads back to it.
  const again = await open(browser, page.url());
  await again.page.getByRole("group", { name: "Error" }).waitFor();
  expect(errors).toEqual([]);
  await again.page.context().close();
  await page.context().close();
});

test("the wire messages of a call, and the stderr of its server", async () => {
  const run = await tram.start("complain", { input: {} });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  await page.locator('[data-node="call"]').click();
  await page.getByText("Request as sent").click();
  expect(await page.getByRole("group", { name: "Request" }).textContent()).toContain("tools/call");
  await page.getByText("Response as sent").click();
  expect(await page.getByRole("group", { name: "Response" }).textContent()).toContain("complained");
  await page.getByText("Server stderr").click();
  await page.getByText("unruly: complaint 2").waitFor();
  await page.context().close();
});

test("a question is answered on the run's page", async () => {
  const run = await tram.start("order", { input: { amount: 50, name: "Ann" } });
  await tram.until(run, "paused");
  const { page } = await opened(run);
  await status(page, "write", "asking");
  const question = page.getByRole("region", { name: "Question" });
  await question.getByRole("region", { name: "The call" }).getByText("write-file").waitFor();
  expect(await question.getByRole("group", { name: "Arguments" }).textContent()).toContain("Ann");
  // The inspector shows the same for the waiting node.
  await page.locator('[data-node="write"]').click();
  await page.getByRole("article", { name: "Node write" }).getByRole("region", { name: "The call" }).waitFor();
  await question.getByLabel("Comment").fill("known customer");
  await question.getByRole("button", { name: "Approve" }).click();
  await said(page, "completed");
  await status(page, "write", "succeeded");
  await page.context().close();
});

test("the debugger halts at a breakpoint, steps, continues, and stops", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" }, pause_at_start: true });
  await tram.until(run, "paused");
  const { page } = await opened(run);
  // A breakpoint with a condition, set with the form.
  await page.locator('[data-node="large"]').click();
  const form = page.getByRole("form", { name: "Breakpoint" });
  await form.getByLabel("Only when").fill("both.total > 10");
  await form.getByRole("button", { name: "Set the condition" }).click();
  await page.locator('[data-node="large"] .break[data-on="when"]').waitFor();
  // Another one, set with a key.
  await page.locator('[data-node="small"]').click();
  await page.keyboard.press("b");
  await page.locator('[data-node="small"] .break[data-on="always"]').waitFor();

  const bar = page.getByRole("toolbar", { name: "Debugger" });
  const before = (await tram.until(run, "paused")).steps;
  await bar.getByRole("button", { name: "Step" }).click();
  await expect.poll(async () => (await tram.until(run, "paused")).steps).toBeGreaterThan(before);
  await bar.getByRole("button", { name: "Continue" }).click();
  await status(page, "large", "asking");
  await status(page, "both", "succeeded");
  await bar.getByRole("button", { name: "Continue" }).click();
  await status(page, "small", "asking");
  expect(await barriers(page)).toEqual([]);
  await bar.getByRole("button", { name: "Stop" }).click();
  await said(page, "aborted");
  await page.context().close();
});

test("an active run is paused", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 3_000 }, pause_at_start: true });
  const { page } = await opened(run);
  await page.getByRole("button", { name: "Continue" }).click();
  await said(page, "running");
  await page.getByRole("button", { name: "Pause" }).click();
  await said(page, "paused");
  await page.getByRole("button", { name: "Continue" }).click();
  await said(page, "completed");
  await page.context().close();
});

test("time travel shows earlier states, plays them, and can be linked to", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  await status(page, "exit", "succeeded");
  await page.getByRole("slider", { name: "Position in the journal" }).fill("3");
  await status(page, "exit", "idle");
  expect(page.url()).toContain("seq=3");
  await page.getByRole("button", { name: "One event back" }).click();
  await expect.poll(() => page.getByTestId("travel").textContent()).toContain("event 2 of");
  await page.getByRole("button", { name: "Play" }).click();
  await status(page, "exit", "succeeded");
  const linked = await opened(run, "?seq=3");
  await status(linked.page, "exit", "idle");
  await linked.page.context().close();
  await page.context().close();
});

test("a fork with another output takes another branch, and the two are compared", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  await page.locator('[data-node="both"]').click();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await page.getByLabel(/Output of step/).fill('{"total": 500, "name": "Bea"}');
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.waitForURL((url) => !url.pathname.includes(run));
  await said(page, "Waiting for approval");
  await status(page, "write", "asking");
  await page.getByRole("link", { name: "compare with it" }).click();
  await page.getByText(/steps? of \d+ differ/).waitFor();
  expect(await page.locator("table.compare").textContent()).toContain("write");
  expect(await barriers(page)).toEqual([]);
  await page.context().close();
});

test.each([["light"], ["dark"]])("every page can be used by everybody, %s", async (theme) => {
  for (const path of ["", "/tools", "/runs", "/inbox", "/documents", "/documents/order.yaml", "/tools/order", "/tools/order/versions", "/compare", "/playground", "/nowhere"]) {
    const { page } = await open(browser, tram.url + path, theme === "dark");
    await page.locator("h1").first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(await barriers(page), path).toEqual([]);
    await page.context().close();
  }
});
