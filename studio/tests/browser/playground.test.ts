// The playground in a real browser, evaluated by the real binary.
import type { Browser } from "playwright-core";
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

test("an expression and a rule are evaluated over what is typed", async () => {
  const { page, errors } = await open(browser, `${tram.url}/playground`);
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("6", { exact: true }).first().waitFor();
  await page.getByRole("textbox", { name: "Expression" }).fill("$sum(numbers) * 2 +");
  await result.getByRole("alert").waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByRole("textbox", { name: "Expression" }).fill("nothing_here");
  await result.getByText(/has no value here/).waitFor();
  await page.getByRole("button", { name: "JSON Logic" }).click();
  await page.getByRole("textbox", { name: "Rule" }).fill('{"<": [{"var": "numbers.0"}, 10]}');
  await result.getByText("true", { exact: true }).first().waitFor();
  expect(await barriers(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.context().close();
});

test("an expression sees the earlier state of a run", async () => {
  const run = await tram.start("choose_shipping", { input: { weight_kg: 25 } });
  await tram.until(run, "completed");
  const { page } = await open(browser, `${tram.url}/playground`);
  const result = page.getByRole("region", { name: "Result" });
  await page.getByRole("button", { name: "A run" }).click();
  await page.getByLabel("Run", { exact: true }).selectOption(run);
  await page.getByRole("textbox", { name: "Expression" }).fill("freight.service & ' ' & entry.weight_kg");
  await result.getByText('"freight 25"').first().waitFor();
  await page.locator("code", { hasText: "freight" }).first().waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.getByLabel("State after event").fill("1");
  await expect.poll(() => result.textContent(), { timeout: 15_000 }).not.toContain("freight 25");
  await page.context().close();
});
