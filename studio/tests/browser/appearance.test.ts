// Every kind of node in every status, and a step with every possible part: in both themes,
// by keyboard, and for screen readers.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Graph, NodeKind, NodeStatus, StepView } from "../../src/api/types";
import { edge, graph, node } from "../graphs";
import { barriers, launch, open } from "./chromium";
import { serve } from "./fake-server";

const KINDS: [string, NodeKind, NodeStatus][] = [
  ["entry", "entry", "succeeded"], ["fetch", "call", "retrying"], ["reckon", "compute", "succeeded"], ["which", "choose", "succeeded"],
  ["pause", "wait", "waiting"], ["send", "call", "failed"], ["mend", "call", "running"], ["never", "call", "skipped"], ["exit", "exit", "idle"],
];
const flow: Graph = graph(
  KINDS.map(([id, kind]) => ({ ...node(id, kind), tool: kind === "call" ? "builtin:read-file" : undefined })),
  [
    edge("entry", "fetch"), edge("entry", "reckon"), edge("fetch", "which"), edge("reckon", "which"),
    edge("which", "pause", { label: "later", kind: "labelled" }), edge("which", "send", { label: "at once", kind: "labelled" }), edge("which", "never"),
    edge("send", "mend", { kind: "error" }), edge("mend", "exit"), edge("pause", "exit"), edge("never", "exit"),
  ],
);

const fullStep: StepView = {
  step: 4, node: "which", kind: "choose", status: "succeeded", attempts: 2, started_ms: 1_700_000_000_000, duration_ms: 1234, label: "at once",
  input: { amount: 120, names: ["a", "b"] }, output: { long: "x".repeat(2_000), many: Array.from({ length: 300 }, (_, at) => ({ at })) },
  retried: [{ code: "T0201", message: "timed out" }],
  why: {
    picked: "at once",
    rules: [
      { index: 0, rule: { "<": [{ var: "amount" }, 100] }, language: "jsonlogic", held: false, tree: { op: "<", value: false, children: [{ op: "var", text: "amount", value: 120 }, { text: "100", value: 100 }] } },
      { index: 1, rule: { ">": [{ var: "amount" }, 100] }, language: "jsonlogic", held: true, tree: { op: ">", value: true, children: [{ text: "amount", value: 120 }, { text: "100", value: 100 }] } },
    ],
  },
  request: { kept: true, message: { method: "tools/call", params: { name: "x" } } }, response: { kept: false, message: { content: [] } }, stderr: ["started", "ready"], seqs: { started: 5, finished: 6 },
};

function answer(path: string): unknown {
  if (path === "/api/about") return { version: "0", documents: false, writable: false, toolsets: [] };
  const question = { checkpoint_id: "chk_1", message: "May it be sent?", options: ["proceed", "reject"], run_id: "run_x", workflow: "made" };
  if (path === "/api/approvals") return { approvals: [question], more: false };
  if (path === "/api/runs/run_x")
    return { run_id: "run_x", status: "paused", workflow: "made", started_ms: 1, updated_ms: 5_000, events: 12, steps: 6, questions: [question], input: { amount: 120 }, kind: "graph", breakpoints: [{ node: "mend" }, { node: "send", when: "amount > 5" }] };
  if (path.endsWith("/graph")) return flow;
  if (path.includes("/at/")) {
    const seq = Number(path.split("/").pop());
    const nodes = Object.fromEntries(KINDS.map(([id, , status]) => [id, { status: seq < 12 ? "idle" : status, visits: 2 }]));
    return { seq, at_ms: 1_700_000_000_000 + seq, event: "StepFinished", status: "paused", nodes, taken: [["entry", "fetch"], ["which", "send"]], questions: [], scope_keys: [] };
  }
  if (path.endsWith("/timeline")) return { steps: KINDS.slice(0, 7).map((_, at) => [at + 1, at, at === 5 ? 2 : 1, 1_700_000_000_000 + at * 40 + (at > 4 ? 9e6 : 0), 30, 1]), nodes: KINDS.map(([id]) => id), next: null };
  if (path.includes("/steps/")) return fullStep;
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

const picture = (page: Page, name: string) =>
  process.env["STUDIO_LOOKS"] ? page.screenshot({ path: `${process.env["STUDIO_LOOKS"]}/${name}.png` }) : undefined;

test.each([["light"], ["dark"]])("a run with everything in it, %s", async (theme) => {
  const { page } = await open(browser, `${served.url}/runs/run_x/steps/4`, theme === "dark");
  await page.waitForSelector(".node");
  await page.getByText("Why this branch").waitFor();
  await picture(page, theme);
  expect(await barriers(page)).toEqual([]);
  for (const [id, , status] of KINDS) expect(await page.locator(`[data-node="${id}"]`).getAttribute("data-status")).toBe(status);
  await page.getByText("Request as sent").click();
  expect(await page.getByRole("group", { name: "Request" }).textContent()).toContain("tools/call");
  await page.getByText("Server stderr").click();
  await page.getByText("ready").waitFor();
  // A status is also shown as a word.
  expect(await page.locator('[data-node="send"]').textContent()).toContain("failed");
  expect(await page.locator('[data-node="mend"] .break[data-on="always"]').count()).toBe(1);
  expect(await page.locator('[data-edge="which>send"][data-taken]').count()).toBe(1);
  await page.context().close();
});

test("the graph is navigated by keys, searched, and left by the tab key", async () => {
  const { page } = await open(browser, `${served.url}/runs/run_x`);
  await page.locator('[data-node="entry"]').focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/steps\/1$/);
  await page.locator('[data-node="entry"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/steps\/[23]$/);
  await page.locator(".node:focus").waitFor();
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Find a node" }).waitFor();
  await page.keyboard.type("nev");
  await page.keyboard.press("Enter");
  await page.locator('[data-node="never"][data-chosen]').waitFor();
  // One node is in the tab order, the next stop is outside the nodes.
  expect(await page.locator('.node[tabindex="0"]').count()).toBe(1);
  await page.locator('[data-node="never"]').focus();
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.closest('.node') === null")).toBe(true);
  await page.context().close();
});

test("the diagram can be saved as Mermaid, SVG and PNG", async () => {
  const { page } = await open(browser, `${served.url}/runs/run_x`);
  await page.waitForSelector(".node");
  for (const kind of ["Mermaid", "SVG", "PNG"]) {
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as" }).click();
    await page.getByRole("menuitem", { name: kind, exact: true }).click();
    const file = await coming;
    expect(file.suggestedFilename()).toMatch(/^made\.(mmd|svg|png)$/);
  }
  await page.context().close();
});

test("the viewport stays during time travel", async () => {
  const { page } = await open(browser, `${served.url}/runs/run_x`);
  await page.waitForSelector(".node");
  await page.getByRole("button", { name: "Zoom in", exact: true }).click();
  const first = await page.locator(".react-flow__viewport").getAttribute("style");
  await page.getByRole("button", { name: "Zoom in", exact: true }).click();
  await expect.poll(() => page.locator(".react-flow__viewport").getAttribute("style")).not.toBe(first);
  const before = await page.locator(".react-flow__viewport").getAttribute("style");
  await page.getByRole("button", { name: "One event back" }).click();
  await page.locator('[data-node="send"][data-status="idle"]').waitFor();
  expect(await page.locator(".react-flow__viewport").getAttribute("style")).toBe(before);
  expect(page.url()).toContain("seq=11");
  await page.context().close();
});
