// Records what happens to a run whose process is killed: `cargo xtask studio --pictures` writes the animation of the README.
import { spawn, type ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { animated, decode, stacked, type Pixels } from "./apng";
import { BINARY, ROOT, studio, type Studio } from "./binary";
import { launch, open } from "./chromium";
import { until } from "./scenes";

const FILE = join(ROOT, "docs/images/kill-and-resume.png");
const WIDTH = 1_280;
const STUDIO = { width: WIDTH, height: 660 };
const TERMINAL = { width: WIDTH, height: 150 };
/** How long the run waits in the middle, and how often a picture is taken. */
const WAIT_MS = 11_000;
const FRAME_MS = 250;
const END_MS = 2_500;

let browser: Browser;
let tram: Studio;
beforeAll(async () => {
  browser = await launch();
  tram = await studio(["studio/tests/browser/order.yaml"]);
});
afterAll(async () => {
  await tram.stop();
  await browser.close();
});

/** A terminal on a page: what is typed, and what the processes print. */
class Terminal {
  private text = "";
  private seen: { text: string; pixels: Pixels } | undefined;
  private constructor(private readonly page: Page) {}

  static async on(of: Browser): Promise<Terminal> {
    const page = await of.newPage({ viewport: TERMINAL });
    await page.setContent(
      `<body style="margin:0;background:#10151c;color:#e6ecf4"><pre id="text" style="margin:0;padding:10px 16px;position:absolute;bottom:0;font:13px/1.5 'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre-wrap"></pre></body>`,
    );
    return new Terminal(page);
  }

  print(text: string): void {
    this.text += text;
  }

  async pixels(): Promise<Pixels> {
    if (this.seen?.text === this.text) return this.seen.pixels;
    await this.page.evaluate(`document.getElementById("text").textContent = ${JSON.stringify(this.text)}`);
    this.seen = { text: this.text, pixels: decode(await this.page.screenshot()) };
    return this.seen.pixels;
  }
}

test("a killed run is resumed", async () => {
  const terminal = await Terminal.on(browser);
  const { page } = await open(browser, `${tram.url}/runs`, false, STUDIO);
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  // Left to right, the whole run fits.
  await page.evaluate('localStorage.setItem("tramline-direction", "LR")');
  const frames: { pixels: Pixels; at: number }[] = [];
  let recording = true;
  const recorded = (async () => {
    while (recording) {
      const at = Date.now();
      frames.push({ pixels: stacked(decode(await page.screenshot()), await terminal.pixels()), at });
      await pause(Math.max(0, FRAME_MS - (Date.now() - at)));
    }
  })();
  const type = async (command: string) => {
    terminal.print("$ ");
    for (let at = 0; at < command.length; at += 6) {
      terminal.print(command.slice(at, at + 6));
      await pause(90);
    }
    terminal.print("\n");
    await pause(250);
  };
  const input = ["amount=5", "name=Ann", `wait_ms=${WAIT_MS}`];
  await type(`tramline run order.yaml ${input.join(" ")}`);
  const first = started(["run", "order.yaml", ...input], terminal);
  const run = await until(async () => (await tram.ask<{ runs: { run_id: string }[] }>("GET", "/api/runs?status=running")).runs[0]?.run_id);
  await page.locator("tr[data-run]").first().waitFor();
  await pause(900);
  await page.locator("tr[data-run] a").first().click();
  await page.locator('[data-node="stock"][data-status="waiting"]').waitFor();
  await pause(2_400);
  await type(`kill -9 ${first.pid}`);
  first.kill("SIGKILL");
  await over(first);
  terminal.print("Killed\n");
  await page.getByText("This run was interrupted:").waitFor();
  await pause(2_200);
  await type("tramline runs resume latest");
  const second = started(["runs", "resume", run], terminal);
  await page.locator('[data-status="completed"]').first().waitFor();
  await over(second);
  terminal.print("$ ");
  await pause(800);
  recording = false;
  await recorded;
  const ms = frames.map((frame, at) => (frames[at + 1]?.at ?? frame.at + END_MS) - frame.at);
  const made = animated(frames.map(({ pixels }, at) => ({ pixels, ms: ms[at]! })));
  writeFileSync(FILE, made);
  console.log(`${frames.length} pictures, ${(ms.reduce((sum, one) => sum + one, 0) / 1_000).toFixed(1)} s, ${(made.length / 1_000).toFixed(0)} kB`);
});

function started(words: string[], terminal: Terminal): ChildProcess {
  const child = spawn(BINARY, ["--data-dir", join(tram.folder, "data"), ...words], { cwd: tram.folder, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => terminal.print(String(text)));
  return child;
}

function over(child: ChildProcess): Promise<void> {
  return child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : new Promise((done) => child.once("exit", () => done()));
}

/** A moment for the viewer. */
function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
