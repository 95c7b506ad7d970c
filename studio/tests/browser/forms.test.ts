// A form with every kind of field, with a fake API: all fields work, and no secret is stored.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tool } from "../../src/api/types";
import { barriers, launch, open } from "./chromium";
import { serve } from "./fake-server";

const tool: Tool = {
  name: "everything",
  title: "Everything at once",
  description: "Takes every kind of input.",
  source: "library",
  input_schema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2, description: "Who it is for." },
      key: { type: "string", format: "password", title: "Key" },
      when: { type: "string", format: "date" },
      size: { enum: ["small", "large"], default: "large" },
      many: { type: ["integer", "null"], minimum: 1 },
      sure: { type: "boolean" },
      place: { type: "object", properties: { city: { type: "string" }, zip: { type: "string", pattern: "^\\d{5}$" } }, required: ["city"] },
      tags: { type: "array", items: { type: "string" } },
      way: { oneOf: [{ title: "By mail", type: "object", properties: { to: { type: "string" } }, required: ["to"] }, { title: "By hand", type: "string" }] },
      labels: { type: "object", additionalProperties: { type: "string" } },
      other: {},
      again: { $ref: "#/$defs/node" },
    },
    required: ["name", "place"],
    $defs: { node: { type: "object", properties: { value: { type: "number" }, next: { $ref: "#/$defs/node" } } } },
  },
};

let browser: Browser;
let served: { url: string; close: () => void };
beforeAll(async () => {
  browser = await launch();
  served = await serve((path) => {
    if (path === "/api/tools") return { tools: [tool] };
    if (path === "/api/approvals") return { approvals: [], more: false };
    if (path === "/api/tools/everything/runs") return { run_id: "run_1" };
    return undefined;
  });
});
afterAll(async () => {
  served?.close();
  await browser?.close();
});

test("every kind of field can be filled in, and the input is what was typed", async () => {
  for (const dark of [false, true]) {
    const { page } = await open(browser, `${served.url}/tools/everything`, dark);
    await page.getByLabel(/^name/).fill("Ann");
    await page.getByLabel("Key", { exact: true }).fill("sesame");
    await page.getByLabel("when").fill("2030-01-31");
    await page.getByLabel("many").fill("3");
    await page.getByLabel("sure").selectOption("yes");
    await page.getByLabel(/^city/).fill("Bern");
    await page.getByLabel("zip").fill("30");
    await page.getByText("does not match ^\\d{5}$").waitFor();
    await page.getByRole("button", { name: "Add to tags" }).click();
    await page.getByRole("textbox", { name: "tags 1" }).fill("new");
    const way = page.locator('fieldset[data-pointer="/way"]').first();
    await way.getByLabel("Variant").selectOption("By mail");
    await way.getByLabel(/^to/).fill("ann@example.org");
    const labels = page.locator('fieldset[data-pointer="/labels"]');
    await labels.getByPlaceholder("additional member").fill("room");
    await labels.getByRole("button", { name: "Add", exact: true }).click();
    await labels.getByRole("textbox", { name: "room" }).fill("12");
    await page.getByRole("textbox", { name: "other" }).fill('{"a": ');
    expect(await barriers(page)).toEqual([]);
    // Invalid JSON is not sent.
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("A field contains invalid JSON.").waitFor();
    await page.getByRole("textbox", { name: "other" }).fill('{"a": 1}');
    const [request] = await Promise.all([page.waitForRequest(/everything\/runs/), page.getByRole("button", { name: "Run", exact: true }).click()]);
    expect(request.postDataJSON()).toEqual({
      input: {
        size: "large", name: "Ann", key: "sesame", when: "2030-01-31", many: 3, sure: true, place: { city: "Bern", zip: "30" },
        tags: ["new"], way: { to: "ann@example.org" }, labels: { room: "12" }, other: { a: 1 },
      },
    });
    await page.waitForURL(/runs\/run_1/);
    const kept = await page.evaluate(() => JSON.stringify(localStorage));
    expect(kept).toContain("Bern");
    expect(kept).not.toContain("sesame");
    await page.context().close();
  }
});
