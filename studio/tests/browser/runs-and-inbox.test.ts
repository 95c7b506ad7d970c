// Starting runs with the form, the inbox, the list of runs: in a real browser against the real binary.
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
  tram = await studio(["examples/graphs/switch.yaml", "examples/graphs/approval.yaml", "examples/graphs/parallel.yaml"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

const said = (page: Page, words: string) => page.locator(".run-head .status", { hasText: words }).waitFor();

test("a workflow is run with its form, and the input is remembered", async () => {
  const { page, errors } = await open(browser, `${tram.url}/tools/choose_shipping`);
  await page.getByLabel(/^weight_kg/).fill("25");
  await page.getByLabel(/^urgent/).selectOption("no");
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/runs\/run_/);
  await said(page, "completed");
  await page.locator('[data-node="freight"][data-status="succeeded"]').waitFor();
  // The same browser offers earlier inputs.
  await page.goto(`${tram.url}/tools/choose_shipping`);
  await page.getByLabel("Earlier inputs").selectOption({ index: 1 });
  expect(await page.getByLabel(/^weight_kg/).inputValue()).toBe("25");
  expect(await page.getByLabel(/^urgent/).inputValue()).toBe("false");
  await page.getByRole("button", { name: "Clear earlier inputs" }).click();
  expect(await page.getByLabel("Earlier inputs").count()).toBe(0);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("what the server rejects is shown at its field", async () => {
  const { page } = await open(browser, `${tram.url}/tools/choose_shipping`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator('[data-pointer="/weight_kg"] .wrong').waitFor();
  await page.getByLabel(/^weight_kg/).fill("-3");
  expect(await page.locator('[data-pointer="/weight_kg"] .hint').textContent()).toBe("more than 0");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect.poll(() => page.locator('[data-pointer="/weight_kg"] .wrong').textContent(), { timeout: 15_000 }).toContain("-3");
  expect(await barriers(page)).toEqual([]);
  await page.context().close();
});

test("an input is given as JSON, with breakpoints and a halt at the start", async () => {
  const { page } = await open(browser, `${tram.url}/tools/choose_shipping`);
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await page.getByLabel("Input as JSON").fill('{"weight_kg": 2');
  await page.getByText(/JSON/).last().waitFor();
  await page.getByLabel("Input as JSON").fill('{"weight_kg": 2}');
  await page.getByText("Run options").click();
  await page.getByLabel("halt before the first step").check();
  await page.getByRole("button", { name: "Add a breakpoint" }).click();
  await page.getByLabel("Node of breakpoint 1").fill("parcel");
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await said(page, "paused");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator('[data-node="parcel"][data-status="asking"]').waitFor();
  await page.context().close();
});

test("a list of numbers is put together item by item", async () => {
  const { page } = await open(browser, `${tram.url}/tools/summarize`);
  await page.getByRole("textbox", { name: "numbers 1" }).fill("4");
  await page.getByRole("button", { name: "Add to numbers" }).click();
  await page.getByRole("textbox", { name: "numbers 2" }).fill("8");
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await said(page, "completed");
  expect(await page.getByRole("group", { name: "Outcome" }).textContent()).toContain("12");
  await page.context().close();
});

test("the inbox shows a new question and sends the answer", async () => {
  const { page, errors } = await open(browser, `${tram.url}/inbox`);
  await page.locator("h1").waitFor();
  const run = await tram.start("write_note", { input: { path: "note.txt", text: "Leave at nine." } });
  const card = page.locator(".cards > li", { hasText: "write_note" });
  await card.waitFor();
  expect(await barriers(page)).toEqual([]);
  await card.getByLabel("Comment").fill("agreed");
  await card.getByRole("button", { name: "Approve" }).click();
  await card.waitFor({ state: "detached" });
  await tram.until(run, "completed");
  expect(readFileSync(join(tram.folder, "note.txt"), "utf8")).toBe("Leave at nine.\n");
  expect(errors).toEqual([]);
  await page.context().close();
});

test("the inbox shows the call with its diff, and sends edited arguments", async () => {
  writeFileSync(join(tram.folder, "edited.txt"), "Leave at eight.\n");
  const run = await tram.start("write_note", { input: { path: "edited.txt", text: "Leave at nine." } });
  // Only a person may edit: the operator's URL proves that.
  const { page, errors } = await open(browser, `${tram.url}/inbox${tram.key}`);
  const card = page.locator(".cards > li", { hasText: "edited.txt" });
  await card.waitFor();
  await card.getByText("on server builtin").waitFor();
  await card.locator(".tag", { hasText: /^destructive$/ }).waitFor();
  expect(await card.getByRole("group", { name: "Difference of edited.txt" }).textContent()).toContain("Leave at eight.");
  await card.locator('.diff-line[data-kind="gone"]', { hasText: "eight" }).waitFor();
  await card.locator('.diff-line[data-kind="new"]', { hasText: "nine" }).waitFor();
  await card.getByText("Requested by write_note").waitFor();
  await card.getByRole("button", { name: "Edit arguments" }).click();
  const typed = card.getByLabel("Arguments (JSON)");
  expect(await barriers(page)).toEqual([]);
  await typed.fill(JSON.stringify({ path: 7 }));
  await card.getByRole("button", { name: "Approve with these arguments" }).click();
  await card.getByText("do not fit builtin:write-file").waitFor();
  await typed.fill(JSON.stringify({ path: "edited.txt", content: "Leave at ten.\n" }));
  await card.getByRole("button", { name: "Approve with these arguments" }).click();
  await card.waitFor({ state: "detached" });
  await tram.until(run, "completed");
  expect(readFileSync(join(tram.folder, "edited.txt"), "utf8")).toBe("Leave at ten.\n");
  const trace = await tram.ask<{ pauses: { edited_arguments?: { content: string } }[] }>("GET", `/api/runs/${run}/trace`);
  expect(trace.pauses[0]?.edited_arguments?.content).toBe("Leave at ten.\n");
  expect(errors.filter((error) => !error.includes("400"))).toEqual([]);
  await page.context().close();
});

test("runs are searched, filtered and compared, and the URL contains the filter", async () => {
  const one = await tram.start("choose_shipping", { input: { weight_kg: 1 }, session_id: "monday" });
  const other = await tram.start("choose_shipping", { input: { weight_kg: 30 } });
  await tram.until(one, "completed");
  await tram.until(other, "completed");
  const { page } = await open(browser, `${tram.url}/runs`);
  await page.locator(`tr[data-run="${other}"]`).waitFor();
  await page.getByRole("button", { name: "More filters" }).click();
  await page.getByLabel("Session").fill("monday");
  await page.locator(`tr[data-run="${other}"]`).waitFor({ state: "detached" });
  await page.locator(`tr[data-run="${one}"]`).waitFor();
  expect(page.url()).toContain("session=monday");
  await page.getByRole("link", { name: "Paused" }).click();
  await page.getByText("No matching runs.").waitFor();
  expect(page.url()).toContain("status=paused");
  await page.getByRole("link", { name: "Show all", exact: true }).click();
  await page.getByLabel(`Select ${one} to compare`).check();
  await page.getByLabel(`Select ${other} to compare`).check();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("link", { name: "Compare the two runs" }).click();
  await page.getByText(/steps? of \d+ differ/).waitFor();
  await page.context().close();
});

test("a run is exported as a file and imported again", async () => {
  const run = await tram.start("choose_shipping", { input: { weight_kg: 3 } });
  await tram.until(run, "completed");
  const { page } = await open(browser, `${tram.url}/runs`);
  await page.getByRole("button", { name: `Actions of ${run}` }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /Export as file/ }).click()]);
  const path = join(tram.folder, "taken.run.json");
  await file.saveAs(path);
  await page.getByLabel("Run file").setInputFiles(path);
  await page.waitForURL((url) => /\/runs\/run_/.test(url.pathname) && !url.pathname.includes(run));
  await said(page, "completed");
  await page.locator('[data-node="parcel"][data-status="succeeded"]').waitFor();
  writeFileSync(path, "{}");
  await page.goto(`${tram.url}/runs`);
  await page.getByLabel("Run file").setInputFiles(path);
  await page.getByRole("alert").waitFor();
  await page.context().close();
});
