// No work is lost: unsaved edits survive navigation, reloads and crashes, and Save never overwrites a changed file.
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
  tram = await studio(["examples/graphs/switch.yaml"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const text = (page: Page) => page.locator(".cm-content");
const file = () => join(tram.folder, "switch.yaml");

async function typed(page: Page, words: string): Promise<void> {
  const line = text(page).locator(".cm-line", { hasText: "id: express" }).first();
  await line.click();
  // Long lines are wrapped: the first press goes to the end of the visible line.
  await page.keyboard.press("End");
  await page.keyboard.press("End");
  await page.keyboard.type(words);
  await page.getByText("unsaved changes").waitFor();
}

test("edits survive a click in the navigation, a reload and a crash of the tab, until they are discarded", async () => {
  const { page, errors } = await open(browser, `${tram.url}/documents/switch.yaml`);
  await page.waitForSelector(".node");
  await typed(page, " # kept");
  // Another page of the studio, at once.
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await page.getByRole("link", { name: /Documents/ }).locator(".count").waitFor();
  await page.goBack();
  await text(page).getByText("id: express # kept").waitFor();
  await page.getByText("were restored").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.reload();
  await text(page).getByText("id: express # kept").waitFor();
  // A tab that crashed: another tab of the same browser has the edits.
  const other = await page.context().newPage();
  await page.close({ runBeforeUnload: false });
  await other.goto(`${tram.url}${tram.key}`);
  await other.getByText("Unsaved edits are kept").waitFor();
  await other.getByRole("status").getByRole("link", { name: "switch.yaml" }).click();
  await text(other).getByText("id: express # kept").waitFor();
  expect(readFileSync(file(), "utf8")).not.toContain("# kept");
  await other.getByRole("button", { name: "Discard them" }).click();
  await text(other).getByText("id: express # kept").waitFor({ state: "detached" });
  await other.reload();
  await other.waitForSelector(".node");
  expect(await text(other).getByText("# kept").count()).toBe(0);
  expect(errors).toEqual([]);
  await other.context().close();
});

test("saved edits are no longer offered", async () => {
  const { page } = await open(browser, `${tram.url}/documents/switch.yaml`);
  await page.waitForSelector(".node");
  await typed(page, " # saved");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("saved", { exact: true }).waitFor();
  await page.reload();
  await page.waitForSelector(".node");
  expect(await page.getByText("were restored").count()).toBe(0);
  expect(readFileSync(file(), "utf8")).toContain("# saved");
  await page.context().close();
});

test("where a person and the file disagree, the merge asks for each place and loses neither", async () => {
  const { page } = await open(browser, `${tram.url}/documents/switch.yaml`);
  await page.waitForSelector(".node");
  const before = readFileSync(file(), "utf8");
  writeFileSync(file(), before.replace(/id: express.*/, "id: express # theirs").replace("title: Shipping", "title: Sending"));
  // The page notices the change before anything is saved.
  await page.getByText("The file has changed on disk").waitFor({ timeout: 15_000 });
  await typed(page, " mine");
  await page.getByRole("button", { name: "Merge…" }).click();
  const asked = page.getByRole("alertdialog");
  await asked.getByText("1 place was changed on both sides").waitFor();
  const save = asked.getByRole("button", { name: /Save the merged text/ });
  expect(await save.isDisabled()).toBe(true);
  expect(await asked.locator('[data-from="conflict"]').textContent()).toContain("# theirs");
  expect(await barriers(page)).toEqual([]);
  await asked.getByLabel("Keep both").check();
  await save.click();
  await asked.waitFor({ state: "detached" });
  const after = readFileSync(file(), "utf8");
  expect(after).toContain("# theirs");
  expect(after).toContain("mine");
  expect(after).toContain("title: Sending");
  await page.context().close();
});
