// Large graphs in a real browser: names that can be read at any zoom, groups that fold, and the server's layout.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BINARY, studio, type Studio } from "./binary";
import { barriers, launch, open } from "./chromium";

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["examples/sop/retail/retail.md", "studio/tests/browser/order.yaml"]);
});
afterAll(async () => {
  await tram?.stop();
  await browser?.close();
});

/** A new layout is asked for; a busy machine needs a while. */
const LAYOUT = { timeout: 20_000 };

/** The smallest text of nodes, labels and names that is visible, in pixels of the screen. */
function smallestText(page: Page): Promise<number> {
  return page.evaluate(() => {
    const zoom = Number(/scale\(([\d.]+)\)/.exec(document.querySelector<HTMLElement>(".react-flow__viewport")!.style.transform)![1]);
    const sizes = [...document.querySelectorAll<HTMLElement>(".node .label, .node .detail, .way-label, .landmark")].flatMap((one) => {
      const style = getComputedStyle(one);
      if (style.opacity === "0" || one.getBoundingClientRect().width === 0 || one.textContent === "") return [];
      return [parseFloat(style.fontSize) * (one.matches(".landmark") ? 1 : zoom)];
    });
    return Math.min(...sizes);
  });
}

test("a procedure of fifty nodes can be read from the start and from afar", async () => {
  const { page, errors } = await open(browser, `${tram.url}/documents/retail.md`);
  await page.waitForSelector(".node");
  expect(await smallestText(page)).toBeGreaterThanOrEqual(11);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator(".landmark").first().waitFor();
  expect(await smallestText(page)).toBeGreaterThanOrEqual(11);
  expect(await page.locator(".landmark").count()).toBeGreaterThan(5);
  // No name covers another.
  const boxes = await page.locator(".landmark").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
  for (const [at, one] of boxes.entries()) for (const other of boxes.slice(at + 1)) expect(one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top).toBe(true);
  expect(await barriers(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("groups are folded at once or one by one, stay folded, and open for what is searched", async () => {
  const { page } = await open(browser, `${tram.url}/documents/retail.md`);
  await page.waitForSelector(".node");
  const nodes = async () => Number(await page.locator(".graph").getAttribute("data-nodes"));
  const all = await nodes();
  await page.getByRole("button", { name: "Fold all groups" }).click();
  await expect.poll(nodes, LAYOUT).toBeLessThan(all / 2);
  const folded = await nodes();
  await page.reload();
  await page.waitForSelector(".node");
  expect(await nodes()).toBe(folded);
  await page.getByRole("button", { name: "Show all" }).click();
  expect(await barriers(page)).toEqual([]);
  // One group by mouse.
  await page.locator(".fold[data-folded]").first().click();
  await expect.poll(nodes, LAYOUT).toBeGreaterThan(folded);
  await page.getByRole("button", { name: "Unfold all groups" }).click();
  await expect.poll(nodes, LAYOUT).toBe(all);
  // One by keyboard, and again.
  const head = await page.locator(".fold").first().getAttribute("data-fold");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.locator(`[data-node="${head}"]`).click();
  await page.keyboard.press("f");
  await expect.poll(nodes, LAYOUT).toBeLessThan(all);
  await page.keyboard.press("f");
  await expect.poll(nodes, LAYOUT).toBe(all);
  await page.context().close();
});

test("the layout comes from the server, and the direction is remembered for all graphs", async () => {
  const { page, errors } = await open(browser, `${tram.url}/tools/order`);
  await page.waitForSelector(".node");
  const place = async (node: string) => (await page.locator(`[data-node="${node}"]`).boundingBox())!;
  await page.getByRole("button", { name: "Show all" }).first().click();
  const [price, stock, both] = [await place("price"), await place("stock"), await place("both")];
  // Side by side in one layer, and above what follows.
  expect(Math.abs(price.y - stock.y)).toBeLessThan(2);
  expect(both.y).toBeGreaterThan(price.y + price.height);
  await page.getByRole("button", { name: /draw left to right/ }).click();
  await expect.poll(async () => (await place("both")).x > (await place("price")).x + 20, LAYOUT).toBe(true);
  await page.goto(`${tram.url}/documents/order.yaml`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: /draw top down/ }).waitFor();
  await page.getByRole("button", { name: /draw top down/ }).click();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("two versions of a saved workflow are a coloured graph and a text with changes", async () => {
  const file = join(tram.folder, "order.yaml");
  const save = () => {
    const done = spawnSync(BINARY, ["--data-dir", join(tram.folder, "data"), "library", "save", "order.yaml", "--name", "kept-order", "--force"], { cwd: tram.folder, encoding: "utf8" });
    expect(done.status, done.stderr).toBe(0);
  };
  save();
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("entry.amount * 3", "entry.amount * 4").replace("next: seen\n", "next: guess\n"));
  save();
  const { page, errors } = await open(browser, `${tram.url}/tools/kept-order`);
  await page.getByRole("link", { name: "Versions and what changed" }).click();
  await page.locator('[data-node="price"][data-mark="changed"]').waitFor();
  await page.getByText(/1 node changed: price/).waitFor();
  await page.getByText("removed edges: look>seen").waitFor();
  const changed = page.getByRole("region", { name: "Changed lines" });
  expect(await changed.locator('[data-kind="new"]').first().textContent()).toContain("entry.amount * 4");
  expect(await barriers(page)).toEqual([]);
  // Both versions are in the address.
  await page.getByRole("combobox", { name: "Before" }).click();
  await page.getByRole("option", { name: /Version 2/ }).click();
  await page.waitForURL(/before=2/);
  await page.getByText("The texts are equal.").waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});
