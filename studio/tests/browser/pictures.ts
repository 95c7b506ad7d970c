// Takes the screenshots of the documentation: `cargo xtask studio --pictures`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { agent } from "./agent";
import { studio, type Studio } from "./binary";
import { launch, open } from "./chromium";

const IMAGES = fileURLToPath(new URL("../../../docs/images", import.meta.url));

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  mkdirSync(IMAGES, { recursive: true });
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml"]);
});
afterAll(async () => {
  await tram.stop();
  await browser.close();
});

async function take(page: Page, name: string): Promise<void> {
  await page.evaluate("document.activeElement?.blur()");
  // Canvas content is drawn once the browser is idle.
  await page.evaluate("new Promise((done) => requestIdleCallback(() => requestAnimationFrame(done)))");
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await page.context().close();
}

const drawn = (page: Page) => page.locator("canvas:not([data-bars='0'])").waitFor();

test("a run that waits for an answer", async () => {
  const run = await tram.start("order", { input: { amount: 50, name: "Ann", wait_ms: 400 } });
  await tram.until(run, "paused");
  const { page } = await open(browser, `${tram.url}/runs/${run}`);
  await page.locator('[data-node="write"][data-status="asking"]').waitFor();
  await drawn(page);
  await take(page, "studio-run");
});

test("why a switch took its branch, dark", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 400 } });
  await tram.until(run, "completed");
  const { page } = await open(browser, `${tram.url}/runs/${run}`, true);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="large"]').click();
  await page.getByRole("button", { name: /readable size/ }).click();
  await page.getByText("Why this branch").waitFor();
  await drawn(page);
  await take(page, "studio-why-dark");
});

test("an earlier state of a run", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 400 } });
  await tram.until(run, "completed");
  const { page } = await open(browser, `${tram.url}/runs/${run}?seq=7`);
  await page.locator('[data-node="look"][data-status="failed"]').waitFor();
  await drawn(page);
  await take(page, "studio-time-travel");
});

test("a fork and its original", async () => {
  const run = await tram.start("order", { input: { amount: 5, name: "Ann", wait_ms: 400 } });
  const { steps } = await tram.until(run, "completed");
  const output = { total: 500, name: "Bea" };
  const fork = await tram.ask<{ run_id: string }>("POST", `/api/runs/${run}/fork`, { step: Math.min(7, steps), output });
  await tram.until(fork.run_id, "paused");
  const { page } = await open(browser, `${tram.url}/compare?left=${run}&right=${fork.run_id}`);
  await page.locator("table.compare").waitFor();
  await take(page, "studio-compare");
});

test("a document and its graph", async () => {
  const { page } = await open(browser, `${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  const line = page.locator(".cm-line", { hasText: "id: small" });
  await line.click();
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator('[data-node="small"]').click();
  await page.getByRole("button", { name: /readable size/ }).click();
  await page.getByRole("region", { name: "Node small" }).waitFor();
  await take(page, "studio-editor");
});

test("an SOP session, dark", async () => {
  const friend = await agent(join(tram.folder, "data"), "sop");
  const { session_id } = await friend.call("load_graph", { sop_file: "examples/sop/incident/incident.md" });
  await friend.call("todo", { session_id: session_id!, todos: [{ content: "Read the alert", status: "in_progress" }] });
  await friend.call("goto_node", { session_id: session_id!, node_id: "START" });
  await friend.call("goto_node", { session_id: session_id!, node_id: "ROLL_BACK" });
  await friend.call("goto_node", { session_id: session_id!, node_id: "ACK", reason: "the alert fired" });
  const { runs } = await tram.ask<{ runs: { run_id: string }[] }>("GET", "/api/runs?most=1");
  const { page } = await open(browser, `${tram.url}/runs/${runs[0]!.run_id}`, true);
  await page.waitForSelector('[data-mark="here"]');
  await take(page, "studio-walk-dark");
  await friend.stop();
});
