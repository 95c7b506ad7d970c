// Text and graph side by side in a real browser against the real binary: flaws, edits, saving.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["examples/graphs/switch.yaml", "examples/dags/reading.json", "examples/sop/retail/retail.md"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const text = (page: Page) => page.locator(".cm-content");
const flaws = (page: Page) => page.getByRole("region", { name: "Problems" });
const file = () => join(tram.folder, "switch.yaml");
const edit = (page: Page) => page.getByRole("region", { name: /^Node / });

async function opened(id: string, dark = false): Promise<{ page: Page; errors: string[] }> {
  const found = await open(browser, `${tram.url}/documents/${id}`, dark);
  await found.page.waitForSelector(".node");
  await found.page.getByRole("button", { name: "Show all" }).click();
  await flaws(found.page).getByText("No problems.").waitFor();
  return found;
}

/** Puts the cursor at the end of the first line that contains the text. */
async function cursor(page: Page, words: string): Promise<void> {
  const line = text(page).locator(".cm-line", { hasText: words }).first();
  // A click scrolls by itself, and looks for the line again if the editor has drawn it again meanwhile.
  await line.click();
  // Long lines are wrapped: the first press goes to the end of the visible line.
  await page.keyboard.press("End");
  await page.keyboard.press("End");
}

test("a flaw is shown on its line, in the list and on its node, until it is fixed", async () => {
  const { page, errors } = await opened("switch.yaml");
  expect(await barriers(page)).toEqual([]);
  await cursor(page, "next: choose");
  await page.keyboard.type("x");
  await flaws(page).locator("li", { hasText: "choosex" }).first().waitFor();
  await page.locator('[data-node="entry"] .flaws').waitFor();
  await page.locator(".cm-lint-marker-error").first().waitFor();
  expect(await barriers(page)).toEqual([]);
  // The list links to the line.
  await flaws(page).getByRole("button").first().click();
  // Long lines are wrapped: the first press goes to the end of the visible line.
  await page.keyboard.press("End");
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await flaws(page).getByText("No problems.").waitFor();
  expect(await page.locator(".node .flaws").count()).toBe(0);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("a node selects its lines and a line selects its node", async () => {
  const { page } = await opened("switch.yaml");
  await page.locator('[data-node="abroad"]').click();
  await page.locator(".cm-node-lines", { hasText: "id: abroad" }).waitFor();
  await cursor(page, "id: express");
  await page.locator('[data-node="express"][data-chosen]').waitFor();
  await page.context().close();
});

test("completions are offered while typing", async () => {
  const { page } = await opened("switch.yaml");
  await cursor(page, "next: parcel");
  for (let at = 0; at < "parcel".length; at++) await page.keyboard.press("Backspace");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "freight" }).waitFor();
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "parcel" }).click();
  await page.keyboard.press("Enter");
  await page.keyboard.type("joi");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "join" }).first().click();
  await text(page).getByText("join:").first().waitFor();
  await page.context().close();
});

test("an edit in the graph is a small change of the text, and undo reverts it", async () => {
  const { page } = await opened("switch.yaml");
  const before = readFileSync(file(), "utf8");
  await page.locator('[data-node="parcel"]').click();
  await edit(page).getByLabel("Name", { exact: true }).fill("small_parcel");
  await edit(page).getByRole("button", { name: "Rename" }).click();
  await page.locator('[data-node="small_parcel"]').waitFor();
  await flaws(page).getByText("No problems.").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("saved", { exact: true }).waitFor();
  const lines = before.split("\n");
  const changed = readFileSync(file(), "utf8").split("\n").filter((line, at) => line !== lines[at]);
  expect(changed.length).toBeGreaterThan(1);
  expect(changed.every((line) => line.includes("small_parcel"))).toBe(true);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator('[data-node="parcel"]').waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("saved", { exact: true }).waitFor();
  expect(readFileSync(file(), "utf8")).toBe(before);
  await page.context().close();
});

test("nodes are added, connected, filled in, disconnected and removed in the graph", async () => {
  const { page } = await opened("switch.yaml");
  const before = await tram.ask<{ text: string }>("GET", "/api/documents/switch.yaml");
  await page.locator('[data-node="parcel"]').click();
  await page.getByRole("textbox", { name: "New node" }).fill("label");
  await page.getByLabel("Kind of the new node").selectOption("compute");
  await page.getByLabel("Expression").fill('"label"');
  await page.getByRole("button", { name: "Add after parcel" }).click();
  await page.locator('[data-node="label"]').waitFor();
  await flaws(page).getByText("No problems.").waitFor();
  await page.locator('[data-node="label"]').click();
  await edit(page).getByRole("heading", { name: "label" }).waitFor();
  await edit(page).getByLabel("Node to connect to").selectOption("freight");
  await edit(page).getByRole("button", { name: "Connect", exact: true }).click();
  await page.locator('[data-edge="label>freight"]').waitFor({ state: "attached" });
  await edit(page).getByRole("button", { name: "Disconnect freight" }).click();
  await page.locator('[data-edge="label>freight"]').waitFor({ state: "detached" });
  await edit(page).getByLabel("description").fill("Prints a label.");
  await edit(page).getByRole("button", { name: "Apply" }).click();
  await text(page).getByText("Prints a label.").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.locator('[data-node="label"]').click();
  await page.keyboard.press("Delete");
  await page.locator('[data-node="label"]').waitFor({ state: "detached" });
  expect((await tram.ask<{ text: string }>("GET", "/api/documents/switch.yaml")).text).toBe(before.text);
  await page.context().close();
});

test("an edge is drawn with the mouse", async () => {
  const { page } = await opened("switch.yaml");
  const middle = async (place: string) => {
    const box = (await page.locator(place).boundingBox())!;
    return [box.x + box.width / 2, box.y + box.height / 2] as const;
  };
  await page.locator('[data-node="express"]').hover();
  await page.mouse.move(...(await middle('[data-node="express"] .react-flow__handle.source')));
  await page.mouse.down();
  await page.mouse.move(...(await middle('[data-node="freight"] .react-flow__handle.target')), { steps: 8 });
  await page.mouse.up();
  await page.locator('[data-edge="express>freight"]').waitFor({ state: "attached" });
  // The text shows the lines of the selected node.
  await page.locator('[data-node="express"]').click();
  await text(page).getByText("[exit, freight]").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator('[data-edge="express>freight"]').waitFor({ state: "detached" });
  await page.context().close();
});

test("a file that changed meanwhile is not overwritten without asking", async () => {
  const { page } = await opened("switch.yaml");
  const theirs = readFileSync(file(), "utf8").replace("title: Shipping", "title: Sending");
  writeFileSync(file(), theirs);
  await cursor(page, "id: express");
  await page.keyboard.type(" # quick");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const asked = page.getByRole("alertdialog");
  await asked.waitFor();
  // Both changes are kept: they are at different places.
  await asked.getByText("do not overlap").waitFor();
  expect(await asked.locator('[data-from="theirs"]').textContent()).toContain("title: Sending");
  expect(await asked.locator('[data-from="mine"]').textContent()).toContain("# quick");
  expect(await barriers(page)).toEqual([]);
  expect(readFileSync(file(), "utf8")).toBe(theirs);
  await asked.getByRole("button", { name: "Save the merged text" }).click();
  await asked.waitFor({ state: "detached" });
  expect(readFileSync(file(), "utf8")).toContain("id: express # quick");
  expect(readFileSync(file(), "utf8")).toContain("title: Sending");
  // The other choice: the file's text replaces the edited one.
  writeFileSync(file(), theirs);
  await cursor(page, "id: express");
  await page.keyboard.type("er");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await asked.getByRole("button", { name: "Use the file’s text" }).click();
  await asked.getByRole("button", { name: "Yes, discard my edits" }).click();
  await text(page).getByText("title: Sending").waitFor();
  await page.context().close();
});

test("other formats open too, also in the dark", async () => {
  const dag = await opened("reading.json", true);
  expect(await barriers(dag.page)).toEqual([]);
  await dag.page.context().close();
  const { page } = await open(browser, `${tram.url}/documents/retail.md`, true);
  await page.waitForSelector(".node");
  await page.locator(".node").nth(2).click();
  expect(await barriers(page)).toEqual([]);
  await page.context().close();
});
