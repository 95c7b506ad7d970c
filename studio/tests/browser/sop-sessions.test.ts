// How the page shows an SOP session of an agent and a plan that an agent changed.
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../../src/api/types";
import { agent, type Agent } from "./agent";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
let friend: Agent;
beforeAll(async () => {
  browser = await launch();
  tram = await studio([]);
  friend = await agent(join(tram.folder, "data"), "sop,control");
});
afterAll(async () => {
  await friend?.stop();
  await tram?.stop();
  await browser?.close();
});

test("an SOP session is shown over its flowchart, live", async () => {
  const begun = await friend.call("load_graph", { sop_file: "examples/sop/incident/incident.md" });
  const session_id = begun["session_id"] as string;
  const runs = await tram.ask<{ runs: { run_id: string; kind?: string }[] }>("GET", "/api/runs");
  const run = runs.runs[0]!.run_id;
  await friend.call("todo", { session_id, todos: [{ content: "Read the alert", status: "in_progress" }, { content: "Write the review", status: "pending" }] });
  await friend.call("goto_node", { session_id, node_id: "START" });
  await friend.call("goto_node", { session_id, node_id: "ROLL_BACK" });
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`);
  await page.waitForSelector(".node");
  const here = page.locator('[data-mark="here"]');
  await here.waitFor();
  expect(await here.getAttribute("data-node")).toBe("START");
  await page.locator('[data-todo="in_progress"]', { hasText: "Read the alert" }).waitFor();
  await page.locator(".refused li", { hasText: "ROLL_BACK" }).waitFor();
  expect(await barriers(page)).toEqual([]);
  // The agent continues, and the page follows.
  await friend.call("goto_node", { session_id, node_id: "ACK", reason: "the alert fired" });
  await expect.poll(() => here.getAttribute("data-node"), { timeout: 15_000 }).toBe("ACK");
  expect(await page.locator(".walk li").count()).toBeGreaterThan(1);
  expect(await page.locator(".way[data-taken]").count()).toBeGreaterThan(0);
  expect(errors).toEqual([]);
  await page.context().close();
  const dark = await open(browser, `${tram.url}/runs/${run}`, true);
  await dark.page.waitForSelector('[data-mark="here"]');
  expect(await barriers(dark.page)).toEqual([]);
  await dark.page.context().close();
});

test("a plan that an agent changed is shown as a diff and approved", async () => {
  const list = (id: string, path: string, after: string[]): Json => ({ id, tool: "builtin:list-directory", arguments: { path }, depends_on: after });
  const tasks = [list("first", "examples", []), list("second", "examples/data", ["first"])];
  const begun = await friend.call("execute_dag", { workflow: { tasks }, config: { per_layer_validation: true } });
  const run = begun["workflow_id"] as string;
  await friend.call("replan", { workflow_id: run, new_requirement: "look closer", new_tasks: [list("third", "examples/graphs", ["first"])] });
  const { page, errors } = await open(browser, `${tram.url}/runs/${run}`);
  await page.getByRole("link", { name: "How the plan changed" }).click();
  await page.locator('[data-node="third"][data-mark="added"]').waitFor();
  await page.getByText("1 node added: third").waitFor();
  await page.getByText("waiting for an answer").waitFor();
  const planned = page.getByRole("region", { name: "The call of third" });
  await planned.getByText("list-directory").waitFor();
  expect(await planned.getByRole("group", { name: "Arguments of third" }).textContent()).toContain("examples/graphs");
  expect(await page.locator('[data-node="first"][data-mark]').count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Proceed" }).click();
  await expect.poll(async () => (await tram.ask<{ steps: number }>("GET", `/api/runs/${run}`)).steps, { timeout: 15_000 }).toBeGreaterThan(2);
  expect(errors).toEqual([]);
  await page.context().close();
});
