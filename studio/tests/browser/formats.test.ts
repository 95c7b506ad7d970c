// Markdown workflows and procedures are edited in their graphs too, and tools are completed with their arguments.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["examples/graphs/parallel.yaml", "examples/ir/choice.json", "examples/dags/sequence.json", "examples/pflow/fallback.pflow.md", "examples/sop/incident/incident.md"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const text = (page: Page) => page.locator(".cm-content");
const flaws = (page: Page) => page.getByRole("region", { name: "Problems" });
const panel = (page: Page) => page.getByRole("region", { name: /^Node / });
const node = (page: Page, id: string) => page.locator(`[data-node="${id}"]`);
const edge = (page: Page, way: string) => page.locator(`[data-edge="${way}"]`);
const offered = (page: Page, words: string) => page.locator(".cm-tooltip-autocomplete li", { hasText: words }).first();

async function opened(id: string): Promise<{ page: Page; errors: string[] }> {
  const found = await open(browser, `${tram.url}/documents/${id}`);
  await found.page.waitForSelector(".node");
  await found.page.getByRole("button", { name: "Show all" }).click();
  await flaws(found.page).getByText("No problems.").waitFor();
  return found;
}

async function cursor(page: Page, words: string): Promise<void> {
  const line = text(page).locator(".cm-line", { hasText: words }).first();
  await line.click();
  // Long lines are wrapped: the first press goes to the end of the visible line.
  await page.keyboard.press("End");
  await page.keyboard.press("End");
}

async function add(page: Page, id: string, kind: string, label: string, what: string): Promise<void> {
  const form = page.getByRole("form", { name: "Add a node" });
  await form.getByRole("textbox", { name: "New node" }).fill(id);
  await form.getByLabel("Kind of the new node").selectOption(kind);
  await form.getByLabel(label, { exact: true }).fill(what);
  await form.getByRole("button", { name: /^Add/ }).click();
}

/** Saves, and returns the new content of the file. */
async function saved(page: Page, name: string): Promise<string> {
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("saved", { exact: true }).waitFor();
  return readFileSync(join(tram.folder, name), "utf8");
}

test("a step written as Markdown is added, filled in, renamed and removed in the graph", async () => {
  const { page, errors } = await opened("fallback.pflow.md");
  const before = readFileSync(join(tram.folder, "fallback.pflow.md"), "utf8");
  await node(page, "wanted").click();
  await page.locator(".cm-node-lines", { hasText: "on-error: instead" }).waitFor();
  await add(page, "trim", "compute", "Expression", "$trim(wanted.content)");
  await edge(page, "wanted>trim").waitFor({ state: "attached" });
  await edge(page, "trim>tell").waitFor({ state: "attached" });
  await node(page, "instead").click();
  await panel(page).getByLabel("Name", { exact: true }).fill("spare");
  await panel(page).getByRole("button", { name: "Rename" }).click();
  await node(page, "spare").waitFor();
  expect(await barriers(page)).toEqual([]);
  const made = await saved(page, "fallback.pflow.md");
  expect(made).toContain("- next: trim\n");
  expect(made).toContain("### trim\n\n- type: transform\n- next: tell\n");
  expect(made).toContain("- on-error: spare\n");
  expect(made).toContain("wanted.content ?? spare.content");
  expect(made).toContain("A missing file is not worth a second attempt.");
  await node(page, "trim").click();
  await page.keyboard.press("Delete");
  await node(page, "trim").waitFor({ state: "detached" });
  await node(page, "spare").click();
  await panel(page).getByLabel("Name", { exact: true }).fill("instead");
  await panel(page).getByRole("button", { name: "Rename" }).click();
  await node(page, "instead").waitFor();
  await flaws(page).getByText("No problems.").waitFor();
  expect(await saved(page, "fallback.pflow.md")).toBe(before);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("an implicit node cannot be changed, and the page says why", async () => {
  const { page } = await opened("fallback.pflow.md");
  await node(page, "entry").click();
  await panel(page).getByText("it is the start of a run").waitFor();
  expect(await panel(page).getByRole("button", { name: "Remove" }).count()).toBe(0);
  await page.keyboard.press("Delete");
  await page.getByRole("alert").getByText("The node entry is implicit").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.context().close();
});

test("the flowchart of a procedure is edited in its graph, and the rest of the file stays", async () => {
  const { page, errors } = await opened("incident.md");
  const before = readFileSync(join(tram.folder, "incident.md"), "utf8");
  await node(page, "ACK").click();
  await panel(page).getByLabel("Text", { exact: true }).fill("Read the whole alert");
  await panel(page).getByRole("button", { name: "Set" }).click();
  await node(page, "ACK").getByText("Read the whole alert").waitFor();
  await add(page, "NOTE", "step", "Text", "Note the time");
  await edge(page, "ACK>NOTE").waitFor({ state: "attached" });
  await edge(page, "NOTE>SEVERITY").waitFor({ state: "attached" });
  await node(page, "NOTE").click();
  await panel(page).getByLabel("Node to connect to").selectOption("TRIAGE");
  await panel(page).getByLabel("Edge label").fill("in a hurry");
  await panel(page).getByRole("button", { name: "Connect", exact: true }).click();
  await edge(page, "NOTE>TRIAGE").waitFor({ state: "attached" });
  expect(await barriers(page)).toEqual([]);
  const made = await saved(page, "incident.md");
  expect(made).toContain("ACK[Read the whole alert]");
  expect(made).toContain("NOTE[Note the time] --> SEVERITY{How bad?}");
  expect(made).toContain("NOTE -->|in a hurry| TRIAGE\n");
  await panel(page).getByRole("button", { name: "Disconnect TRIAGE" }).click();
  await edge(page, "NOTE>TRIAGE").waitFor({ state: "detached" });
  await panel(page).getByRole("button", { name: "Remove" }).click();
  await node(page, "NOTE").waitFor({ state: "detached" });
  await edge(page, "ACK>SEVERITY").waitFor({ state: "attached" });
  const back = await saved(page, "incident.md");
  expect(back).toBe(before.replace('ACK["Read the alert"]', "ACK[Read the whole alert]"));
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a plan is drawn as a chain, and its steps are added and removed in order", async () => {
  const { page } = await opened("sequence.json");
  const before = readFileSync(join(tram.folder, "sequence.json"), "utf8");
  await edge(page, "list>read").waitFor({ state: "attached" });
  await edge(page, "read>size").waitFor({ state: "attached" });
  await node(page, "read").click();
  await add(page, "twice", "compute", "Expression", "read.bytes * 2");
  await edge(page, "read>twice").waitFor({ state: "attached" });
  await edge(page, "twice>size").waitFor({ state: "attached" });
  await panel(page).getByLabel("Node to connect to").selectOption("size");
  await panel(page).getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("alert").getByText("a plan runs in list order").waitFor();
  await node(page, "twice").click();
  await page.keyboard.press("Delete");
  await node(page, "twice").waitFor({ state: "detached" });
  expect(await text(page).locator(".cm-line").allTextContents()).toEqual(before.split("\n"));
  await page.context().close();
});

test("a node of a procedure selects its line and nothing more", async () => {
  const { page } = await opened("incident.md");
  await node(page, "SEVERITY").click();
  await page.locator(".cm-node-lines", { hasText: "SEVERITY{How bad?}" }).waitFor();
  expect(await page.locator(".cm-node-lines").count()).toBe(1);
  await page.context().close();
});

test("every tool is offered, with its arguments", async () => {
  const { page } = await opened("parallel.yaml");
  await cursor(page, "tool: list-directory");
  for (let at = 0; at < "list-directory".length; at++) await page.keyboard.press("Backspace");
  await page.keyboard.press("Control+Space");
  await offered(page, "read-file").waitFor();
  await offered(page, "write-file").click();
  await text(page).getByText("tool: write-file").waitFor();
  await cursor(page, "args: { path");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(", ");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li").first().waitFor();
  const keys = await page.locator(".cm-tooltip-autocomplete .cm-completionLabel").allTextContents();
  const { input_schema } = await tram.ask<{ input_schema: { properties: { [name: string]: unknown } } }>("GET", "/api/registry/builtin:write-file");
  expect(Object.keys(input_schema.properties)).toEqual(expect.arrayContaining(keys));
  expect(keys.length).toBeGreaterThan(0);
  await page.context().close();
});

test("tools are offered in IRs and in Markdown", async () => {
  const ir = await opened("choice.json");
  await cursor(ir.page, '{ "id": "list"');
  // The line is wrapped: the second press goes to its own start.
  await ir.page.keyboard.press("Home");
  await ir.page.keyboard.press("Home");
  for (let at = 0; at < '{ "id": "list", "type": "'.length; at++) await ir.page.keyboard.press("ArrowRight");
  await ir.page.keyboard.press("Control+Space");
  await offered(ir.page, "builtin:write-file").waitFor();
  await ir.page.context().close();
  const { page } = await opened("fallback.pflow.md");
  await cursor(page, "retry: { max: 1 }");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+Space");
  await offered(page, "timeout").waitFor();
  await page.context().close();
});
