// Pictures of every page, wide and on a phone, light and dark: `cargo xtask studio --pictures`.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { agent } from "./agent";
import { ROOT, studio, type Studio } from "./binary";
import { launch, open } from "./chromium";
import { DOCUMENTS, interrupted, reject } from "./scenes";

const FOLDER = process.env["STUDIO_PICTURES"] ?? join(ROOT, "target/studio-pictures");
const ONLY = process.env["STUDIO_ONLY"]?.split(",");
const SIZES = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

/** The last workflow has its picture. */
const PICTURES = ".workflows > li:last-child svg.mini-graph rect";

/** Selects a node wherever it is, and goes back to a readable size around it. */
async function select(page: Page, node: string): Promise<void> {
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator(`[data-node="${node}"]`).click();
  await page.getByRole("button", { name: /readable size/ }).click();
}

let browser: Browser;
let tram: Studio;
/** The pages by the names of their pictures. */
const pages: { [name: string]: { path: string; ready: string; act?: (page: Page) => Promise<void> } } = {};

beforeAll(async () => {
  if (!ONLY) rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  browser = await launch();
  tram = await studio(DOCUMENTS);
  const order = (amount: number, name: string, wait_ms = 200) => tram.start("order", { input: { amount, name, wait_ms } });
  const done = await order(5, "Ann", 1200);
  await tram.until(done, "completed");
  const refused = await order(60, "Bob");
  await reject(tram, refused, "Ann", "Not this week.");
  const partly = await tram.start("partly", { input: {} });
  await tram.until(partly, "completed");
  const cut = await interrupted(tram);
  const items = await tram.start("file_sizes", { input: { directory: "." } }).catch(() => undefined);
  const failed = await tram.start("count_files", { input: { directory: "no-such-directory" } }).catch(() => undefined);
  if (failed) await tram.until(failed, "failed").catch(() => undefined);
  const asks = await tram.start("write_note", { input: { path: "note.txt", text: "Leave at nine." } });
  await tram.until(asks, "paused");
  const waits = await order(70, "Cleo");
  await tram.until(waits, "paused");
  const live = await tram.start("order", { input: { amount: 5, name: "Dora", wait_ms: 3_600_000 } });
  const friend = await agent(join(tram.folder, "data"), "sop");
  const { session_id } = await friend.call("load_graph", { sop_file: "examples/sop/incident/incident.md" });
  await friend.call("todo", { session_id: session_id!, todos: [{ content: "Read the alert", status: "in_progress" }] });
  await friend.call("goto_node", { session_id: session_id!, node_id: "START" });
  await friend.call("goto_node", { session_id: session_id!, node_id: "ROLL_BACK" });
  await friend.call("goto_node", { session_id: session_id!, node_id: "ACK", reason: "the alert fired" });
  const { runs } = await tram.ask<{ runs: { run_id: string }[] }>("GET", "/api/runs?status=guided");
  await friend.stop();

  const node = ".node";
  Object.assign(pages, {
    home: { path: "", ready: PICTURES },
    workflows: { path: "/tools", ready: PICTURES },
    workflow: { path: "/tools/order", ready: node },
    runs: { path: "/runs", ready: "tr[data-run]" },
    inbox: { path: "/inbox", ready: ".ask" },
    documents: { path: "/documents", ready: ".run-row" },
    editor: { path: "/documents/order.yaml", ready: node, act: (page: Page) => select(page, "look") },
    procedure: { path: "/documents/retail.md", ready: node },
    playground: { path: `/playground?run=${done}&expression=both`, ready: ".tree" },
    compare: { path: `/compare?left=${done}&right=${refused}`, ready: "table.compare" },
    "run-done": { path: `/runs/${done}`, ready: node },
    "run-step": { path: `/runs/${done}`, ready: node, act: async (page: Page) => (await select(page, "large"), page.getByText("Why this branch").waitFor()) },
    "run-past": { path: `/runs/${done}?seq=7`, ready: node },
    "run-rejected": { path: `/runs/${refused}`, ready: node },
    "run-partly": { path: `/runs/${partly}`, ready: node },
    "run-interrupted": { path: `/runs/${cut}`, ready: node },
    "run-asks": { path: `/runs/${waits}`, ready: node },
    "run-live": { path: `/runs/${live}`, ready: node },
    session: { path: `/runs/${runs[0]!.run_id}`, ready: '[data-mark="here"]' },
    palette: { path: "/runs", ready: "tr[data-run]", act: async (page: Page) => (await page.keyboard.press("Control+k"), page.locator('[role="option"]').first().waitFor()) },
    keys: { path: "/runs", ready: "tr[data-run]", act: (page: Page) => page.keyboard.press("?") },
    missing: { path: "/nowhere", ready: "h1" },
    ...(items ? { "run-items": { path: `/runs/${items}`, ready: node } } : {}),
    ...(failed ? { "run-failed": { path: `/runs/${failed}`, ready: node } } : {}),
  });
});
afterAll(async () => {
  await tram.stop();
  await browser.close();
});

test.each([
  ["wide", "light"], ["wide", "dark"], ["phone", "light"], ["phone", "dark"],
] as const)("every page, %s and %s", async (size, theme) => {
  for (const [name, { path, ready, act }] of Object.entries(pages)) {
    if (ONLY && !ONLY.includes(name)) continue;
    const { page } = await open(browser, tram.url + path, theme === "dark", SIZES[size]);
    await page.locator(ready).first().waitFor();
    await act?.(page);
    await page.evaluate("new Promise((done) => requestIdleCallback(() => requestAnimationFrame(done), { timeout: 500 }))");
    await page.screenshot({ path: join(FOLDER, `${name}-${size}-${theme}.png`) });
    await page.context().close();
  }
});
