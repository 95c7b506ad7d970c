// Size: the initial load, five hundred nodes, fifty thousand steps.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Graph, TimelineStep } from "../../src/api/types";
import { wide } from "../graphs";
import { barriers, launch, open } from "./chromium";
import { ASSETS, serve } from "./fake-server";

const FIRST_LOAD_BYTES_MAX = 400_000;
const STEPS = 50_000;
const OPEN_MS_MAX = 2_000;
/** The time that the page itself may use, whatever else the machine does. */
const OPEN_WORK_MS_MAX = 1_000;
const TURNS_MAX = 8;
/** The time between two frames that most frames keep; other load only makes it larger, so the best turn counts. */
const FRAME_P95_MS_MAX = 32;
const SMOOTH_TURNS_MAX = 5;

/** The times between the frames of a page while something is done, in milliseconds. */
async function watchFrames(page: Page, act: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const state = { frames: [] as number[], over: false };
    let last = performance.now();
    const tick = (now: number) => {
      state.frames.push(now - last);
      last = now;
      if (!state.over) requestAnimationFrame(tick);
    };
    requestAnimationFrame((now) => {
      last = now;
      requestAnimationFrame(tick);
    });
    Object.assign(window, { watched: state });
  });
  await act();
  return page.evaluate(() => {
    const { watched } = window as unknown as { watched: { frames: number[]; over: boolean } };
    watched.over = true;
    return watched.frames;
  });
}

function share(frames: number[], of: number): number {
  const sorted = [...frames].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Infinity;
}

const big: Graph = wide(50, 10);

function rows(after: number, most: number): TimelineStep[] {
  const found: TimelineStep[] = [];
  for (let step = after + 1; step <= STEPS && found.length < most; step++) {
    // Now and then an hour passes in which nothing happens.
    const idle = Math.floor(step / 10_000) * 3_600_000;
    found.push([step, step % big.nodes.length, step % 997 === 0 ? 2 : 1, 1_700_000_000_000 + step * 3 + idle, 2 + (step % 5), 1]);
  }
  return found;
}

const run = {
  run_id: "run_big", status: "completed", workflow: "big", started_ms: 1_700_000_000_000, updated_ms: 1_700_000_200_000,
  events: 2 * STEPS, steps: STEPS, questions: [], outcome: { completed: true }, kind: "graph", breakpoints: [],
};

function answer(path: string, query: URLSearchParams): unknown {
  if (path === "/api/about") return { version: "0", documents: false, writable: false, toolsets: [] };
  if (path === "/api/approvals") return { approvals: [], more: false };
  if (path === "/api/runs/run_big") return run;
  if (path.endsWith("/graph")) return big;
  if (path.includes("/at/")) {
    const nodes = Object.fromEntries(big.nodes.map((node) => [node.id, { status: "succeeded", visits: 100 }]));
    return { seq: 2 * STEPS, at_ms: 1, event: "Finished", status: "completed", nodes, taken: [], questions: [], scope_keys: [] };
  }
  if (path.endsWith("/events")) return undefined;
  if (path.endsWith("/timeline")) {
    const after = Number(query.get("after") ?? 0);
    const steps = rows(after, Number(query.get("most")));
    const last = steps[steps.length - 1]?.[0] ?? STEPS;
    return { steps, nodes: big.nodes.map((node) => node.id), next: last < STEPS ? last : null };
  }
  if (path.includes("/steps/")) {
    return { step: 7, node: "n0_7", kind: "call", status: "succeeded", attempts: 1, started_ms: 1, duration_ms: 2, output: Array(10_000).fill({ a: 1 }) };
  }
  return undefined;
}

let browser: Browser;
let served: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  browser = await launch();
  served = await serve(answer);
});
afterAll(async () => {
  served.close();
  await browser.close();
});

test("the initial load is small", () => {
  const index = readFileSync(join(ASSETS, "index.html"), "utf8");
  const names = [...index.matchAll(/(?:src|href)="\/studio\/([^"]+)"/g)].map((found) => found[1]!);
  const bytes = names.map((name) => gzipSync(readFileSync(join(ASSETS, name))).length).reduce((sum, one) => sum + one, 0);
  console.log(`first load: ${bytes} bytes compressed, of ${names.length} files`);
  expect(names.length).toBeGreaterThan(2);
  expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX);
});

test("five hundred nodes are drawn where they are seen, and panning is smooth", async () => {
  const { page, errors } = await open(browser, `${served.url}/runs/run_big`);
  await page.waitForSelector(".node");
  expect(await page.locator(".graph").getAttribute("data-nodes")).toBe("500");
  // When zoomed in, only visible nodes are rendered.
  for (let turn = 0; turn < 12; turn++) await page.getByRole("button", { name: "Zoom in", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".node").length < 200);
  const box = (await page.locator(".graph").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await page.mouse.down();
  let best = Infinity;
  for (let turn = 0; turn < SMOOTH_TURNS_MAX && best > FRAME_P95_MS_MAX; turn++) {
    const frames = await watchFrames(page, async () => {
      for (let at = 0; at < 60; at++) await page.mouse.move(box.x + box.width / 2 - at * 8, box.y + 40 + at * 3);
    });
    best = Math.min(best, share(frames, 0.95));
    console.log(`panning 500 nodes: ${frames.length} frames, median ${share(frames, 0.5).toFixed(1)} ms, p95 ${share(frames, 0.95).toFixed(1)} ms`);
  }
  await page.mouse.up();
  expect(best).toBeLessThanOrEqual(FRAME_P95_MS_MAX);
  expect(errors.filter((text) => !text.includes("404"))).toEqual([]);
  await page.context().close();
});

test("fifty thousand steps open in under two seconds", async () => {
  // Other load makes single measurements larger, never smaller: the best one counts.
  const took: number[] = [];
  let worked = 0;
  for (let turn = 0; turn < TURNS_MAX && !(Math.min(...took) < OPEN_MS_MAX); turn++) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    const inside = await page.context().newCDPSession(page);
    await inside.send("Performance.enable", { timeDomain: "threadTicks" });
    const begun = Date.now();
    await page.goto(`${served.url}/runs/run_big`);
    await page.getByText("50,000 steps", { exact: true }).waitFor();
    took.push(Date.now() - begun);
    const { metrics } = await inside.send("Performance.getMetrics");
    worked = 1_000 * (metrics.find((one) => one.name === "TaskDuration")?.value ?? Infinity);
    await page.close();
  }
  console.log(`50,000 steps: open after ${took.join(", ")} ms, ${worked.toFixed(0)} ms of them work`);
  expect(worked).toBeLessThan(OPEN_WORK_MS_MAX);
  expect(Math.min(...took)).toBeLessThan(OPEN_MS_MAX);
});

test("going through the events of a run of fifty thousand steps is smooth", async () => {
  const { page } = await open(browser, `${served.url}/runs/run_big`);
  await page.getByText("50,000 steps", { exact: true }).waitFor();
  const slider = (await page.getByRole("slider").first().boundingBox())!;
  let best = Infinity;
  for (let turn = 0; turn < SMOOTH_TURNS_MAX && best > FRAME_P95_MS_MAX; turn++) {
    await page.mouse.move(slider.x + slider.width - 8, slider.y + slider.height / 2);
    await page.mouse.down();
    const frames = await watchFrames(page, async () => {
      for (let at = 0; at < 60; at++) await page.mouse.move(slider.x + slider.width - 8 - at * 6, slider.y + slider.height / 2);
    });
    await page.mouse.up();
    best = Math.min(best, share(frames, 0.95));
    console.log(`scrubbing 100,000 events: ${frames.length} frames, median ${share(frames, 0.5).toFixed(1)} ms, p95 ${share(frames, 0.95).toFixed(1)} ms`);
  }
  expect(best).toBeLessThanOrEqual(FRAME_P95_MS_MAX);
  await page.context().close();
});

test("fifty thousand steps are drawn in part and navigated by keys", async () => {
  const { page } = await open(browser, `${served.url}/runs/run_big`);
  await page.getByText("50,000 steps", { exact: true }).waitFor();
  const bars = Number(await page.locator("canvas").getAttribute("data-bars"));
  expect(bars).toBeGreaterThan(100);
  expect(bars).toBeLessThan(STEPS);
  await page.locator("canvas").focus();
  await page.keyboard.press("End");
  await page.waitForURL(/steps\/50000/);
  await page.getByRole("button", { name: "List" }).click();
  expect(await page.locator(".step-row").count()).toBeLessThan(60);
  expect(await page.locator(".tree .leaf, .tree .branch").count()).toBeLessThan(300);
  expect(await barriers(page)).toEqual([]);
  await page.context().close();
});
