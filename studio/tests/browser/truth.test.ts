// What the studio says about a run is true: interrupted, partly failed and rejected runs, time travel, forks, a server that
// went away, statuses of the filter.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";
import { interrupted, reject } from "./scenes";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml", "examples/dags/partly.json"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const said = (page: Page, words: string) => page.locator(".run-head .status", { hasText: words }).waitFor();

async function opened(run: string, more = ""): Promise<{ page: Page; errors: string[] }> {
  const found = await open(browser, `${tram.url}/runs/${run}${more}`);
  await found.page.waitForSelector(".node");
  return found;
}

test("an interrupted run says so, and is resumed from the list and from its page", async () => {
  const first = await interrupted(tram, "First");
  const second = await interrupted(tram, "Second");
  const { page, errors } = await open(browser, `${tram.url}/runs?status=interrupted`);
  const row = page.locator(`tr[data-run="${first}"]`);
  await row.getByText("Interrupted").waitFor();
  // The running ones are another list.
  await page.getByRole("link", { name: "Running", exact: true }).click();
  await page.getByRole("link", { name: "Interrupted", exact: true }).click();
  await page.getByText("No matching runs.").waitFor();
  await page.getByRole("link", { name: "Running", exact: true }).click();
  await page.getByRole("link", { name: "Interrupted", exact: true }).click();
  expect(await barriers(page)).toEqual([]);
  await row.getByRole("button", { name: "Resume" }).click();
  await expect.poll(async () => (await tram.ask<{ driven: boolean }>("GET", `/api/runs/${first}`)).driven, { timeout: 15_000 }).toBe(true);
  await page.goto(`${tram.url}/runs/${second}`);
  await said(page, "Interrupted");
  await page.getByText("This run was interrupted").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Resume" }).click();
  await said(page, "Running");
  for (const run of [first, second]) await tram.ask("POST", `/api/runs/${run}/abort`, { why: "done" });
  await said(page, "Aborted");
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a run of which steps failed is not simply completed", async () => {
  const run = await tram.start("partly", { input: {} });
  await tram.until(run, "completed");
  const { page, errors } = await opened(run);
  await said(page, "Completed with");
  expect(await page.locator(".run-head .chip").first().getAttribute("data-tone")).toBe("wait");
  const failures = page.getByRole("region", { name: "Failures" });
  await failures.getByRole("link", { name: "gone", exact: true }).click();
  await page.waitForURL(/\/steps\/\d+$/);
  expect(await barriers(page)).toEqual([]);
  await page.goto(`${tram.url}/runs`);
  await page.locator(`tr[data-run="${run}"] [data-status="partly-failed"]`).waitFor();
  await page.goto(tram.url);
  await page.getByRole("region", { name: "Failed recently" }).getByText("partly").waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a rejected node says that it was rejected, by whom and why", async () => {
  const run = await tram.start("order", { input: { amount: 60, name: "Bob" } });
  await reject(tram, run, "Ann", "Not this week.");
  const { page, errors } = await opened(run);
  await said(page, "Rejected");
  await page.locator('[data-node="write"][data-status="rejected"]').waitFor({ state: "attached" });
  const verdict = page.getByRole("region", { name: "Rejection" });
  expect(await verdict.textContent()).toContain("Ann");
  expect(await verdict.textContent()).toContain("Not this week.");
  // A branch that was not taken looks different.
  await page.locator('[data-node="small"][data-status="skipped"]').waitFor({ state: "attached" });
  expect(await barriers(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("the filter has every status of the server, and an unknown one is an error instead of an unfiltered list", async () => {
  const { statuses } = await tram.ask<{ statuses: string[] }>("GET", "/api/about");
  expect(statuses).toContain("guided");
  const { page } = await open(browser, `${tram.url}/runs`);
  await page.locator("tr[data-run]").first().waitFor();
  const shown = await page.getByRole("group", { name: "Status" }).getByRole("link").count();
  expect(shown).toBe(statuses.length + 1);
  for (const status of statuses) {
    await page.goto(`${tram.url}/runs?status=${status}`);
    await page.locator("h1").waitFor();
    await page.locator("tr[data-run], .empty-state").first().waitFor();
    expect(await page.locator(".trouble").count(), status).toBe(0);
  }
  await page.goto(`${tram.url}/runs?status=stalled`);
  await page.getByRole("alert").getByText("unknown status `stalled`").waitFor();
  expect(await page.locator("tr[data-run]").count()).toBe(0);
  await page.context().close();
});

test("during time travel everything on the page is of that moment", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page, errors } = await opened(run, "?seq=4");
  await page.getByText(/Viewing event 4 of \d+/).waitFor();
  await said(page, "Running");
  // Neither the outcome nor anything that controls the run is shown.
  expect(await page.getByText("Outcome of the run").count()).toBe(0);
  expect(await page.getByRole("toolbar", { name: "Debugger" }).count()).toBe(0);
  await page.getByText("Scope and watch").waitFor();
  // A step that had not ended yet has no output.
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="exit"]').click();
  await page.getByRole("article", { name: /exit/ }).waitFor();
  expect(await page.getByRole("group", { name: "Output" }).count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Back to now" }).click();
  await said(page, "Completed");
  expect(errors).toEqual([]);
  await page.context().close();
});

test("the duration of a fork is its own", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 1_500 } });
  await tram.until(run, "completed");
  const { run_id } = await tram.ask<{ run_id: string }>("POST", `/api/runs/${run}/fork`, { step: 7, output: { total: 5, name: "Bea" } });
  const fork = await tram.until(run_id, "completed");
  expect(fork.own_started_ms).toBeGreaterThan(fork.started_ms + 1_400);
  const { page } = await opened(run_id);
  expect(await page.getByTestId("run-clock").textContent()).toMatch(/^\d+ ms$/);
  await page.context().close();
});

test("selecting a node without a step leaves no other step in the address", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" } });
  await tram.until(run, "completed");
  const { page } = await opened(run);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="price"]').click();
  await page.waitForURL(/\/steps\/\d+$/);
  await page.locator('[data-node="write"]').click();
  await page.waitForURL((url) => url.pathname.endsWith(run));
  await page.getByRole("article", { name: "Node write" }).waitFor();
  await page.context().close();
});

test("step and continue wait for the answer at an approval", async () => {
  const run = await tram.start("order", { input: { amount: 60, name: "Bob" } });
  await tram.until(run, "paused");
  const { page } = await opened(run);
  const bar = page.getByRole("toolbar", { name: "Debugger" });
  await bar.getByRole("button", { name: "Step" }).waitFor();
  expect(await bar.getByRole("button", { name: "Step" }).isDisabled()).toBe(true);
  expect(await bar.getByRole("button", { name: "Continue" }).isDisabled()).toBe(true);
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.context().close();
});

test("a breakpoint is no question: it is not in the inbox, and its page shows no answer form", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann" }, breakpoints: [{ node: "both" }] });
  await tram.until(run, "paused");
  const { page } = await open(browser, `${tram.url}/inbox`);
  await page.getByRole("region", { name: "Halted at breakpoints" }).getByText("order").waitFor();
  expect(await page.locator(".ask").count()).toBe(0);
  await page.goto(`${tram.url}/runs/${run}`);
  await said(page, "Paused at a breakpoint");
  await page.getByRole("region", { name: "Halted" }).waitFor();
  expect(await page.locator(".ask").count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await tram.ask("POST", `/api/runs/${run}/abort`, {});
  await page.context().close();
});

test("a server that went away gives a banner, and the page recovers by itself", async () => {
  const { page } = await open(browser, `${tram.url}/runs`);
  await page.locator("tr[data-run]").first().waitFor();
  await page.getByTestId("connection").getByText("Connected").waitFor();
  await page.route("**/api/**", (route) => route.abort("connectionrefused"));
  await page.getByText("The server cannot be reached.").waitFor();
  await page.getByTestId("connection").getByText("Offline").waitFor();
  expect(await barriers(page)).toEqual([]);
  const run = await tram.start("order", { input: { amount: 5, name: "Meanwhile" } });
  await page.unroute("**/api/**");
  await page.getByTestId("connection").getByText("Connected").waitFor();
  await page.locator(`tr[data-run="${run}"]`).waitFor();
  expect(await page.locator(".lost").count()).toBe(0);
  await page.context().close();
});
