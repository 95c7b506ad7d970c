// A real browser, and the accessibility check of a page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults, ImpactValue } from "axe-core";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page, type Route } from "playwright-core";
import { KEYS } from "./binary";
import { ASSETS, fileOf } from "./fake-server";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"];

const BROWSER = { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: FLAGS };

export function launch(): Promise<Browser> {
  return chromium.launch(BROWSER);
}

/** A browser that stores its history and profile in a folder. */
export async function persistent(folder: string): Promise<BrowserContext> {
  const context = await chromium.launchPersistentContext(folder, BROWSER);
  if (process.env["STUDIO_FROM_FOLDER"]) await context.route(PAGE, fromFolder);
  return context;
}

/** The URLs of the page, which are not those of the API behind it. */
const PAGE = /^https?:\/\/[^/]+\/studio(\/|$)/;

/** Serves the page from its build folder, so that the binary need not be rebuilt after each change. */
function fromFolder(route: Route): Promise<void> {
  return route.fulfill({ path: join(ASSETS, fileOf(new URL(route.request().url()).pathname)) });
}

/** A new page whose errors fail the test that reads `errors`; for a studio with its own key, with the operator's URL. */
export async function open(browser: Browser, path: string, dark = false, viewport = { width: 1440, height: 900 }): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({ viewport, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" });
  if (process.env["STUDIO_FROM_FOLDER"]) await context.route(PAGE, fromFolder);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  const at = new URL(path);
  if (!at.hash) at.hash = KEYS.get(at.origin) ?? "";
  await page.goto(at.href);
  return { page, errors };
}

/** Serious and critical findings of axe, as text. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as AxeResults;
  const grave: ImpactValue[] = ["serious", "critical"];
  return found.violations
    .filter((violation) => grave.includes(violation.impact ?? null))
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}
