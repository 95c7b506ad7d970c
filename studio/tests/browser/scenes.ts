// Runs in every state that people meet, for the pictures and for tests.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { BINARY, type Studio } from "./binary";

/** The documents that the scenes need, relative to the repository. */
export const DOCUMENTS = [
  "studio/tests/browser/order.yaml", "examples/graphs/approval.yaml", "examples/graphs/switch.yaml", "examples/graphs/parallel.yaml", "examples/graphs/items.yaml", "examples/graphs/file_utils.yaml",
  "examples/dags/partly.json", "examples/dags/reading.json", "examples/sop/retail/retail.md", "examples/sop/incident/incident.md",
];

type Row = { run_id: string; status: string; driven: boolean; input_preview?: string };

/** Starts a run in a process of its own, and kills that process while the run waits. */
export async function interrupted(tram: Studio, name = "Cut"): Promise<string> {
  const input = JSON.stringify({ amount: 5, name, wait_ms: 90_000 });
  const child = spawn(BINARY, ["--data-dir", join(tram.folder, "data"), "run", "order.yaml", "--input", input], { cwd: tram.folder, stdio: "ignore" });
  const found = await until(async () => {
    const { runs } = await tram.ask<{ runs: Row[] }>("GET", "/api/runs?status=running");
    const mine = runs.find((run) => run.input_preview?.includes(name));
    if (!mine) return undefined;
    const { nodes } = await tram.ask<{ nodes: { [node: string]: { status: string } } }>("GET", `/api/runs/${mine.run_id}/at/${(await tram.ask<{ events: number }>("GET", `/api/runs/${mine.run_id}`)).events}`);
    return nodes["stock"]?.status === "waiting" ? mine.run_id : undefined;
  });
  const over = new Promise((done) => child.once("exit", done));
  child.kill("SIGKILL");
  await over;
  await until(async () => ((await tram.ask<{ driven: boolean }>("GET", `/api/runs/${found}`)).driven ? undefined : true));
  return found;
}

/** Asks again until there is an answer. */
export async function until<R>(ask: () => Promise<R | undefined>, ms = 30_000): Promise<R> {
  for (const end = Date.now() + ms; ; ) {
    const found = await ask().catch(() => undefined);
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error("it did not happen in time");
    await new Promise((done) => setTimeout(done, 60));
  }
}

/** Rejects the open question of a run. */
export async function reject(tram: Studio, run: string, by: string, why: string): Promise<void> {
  const { questions } = await tram.until(run, "paused");
  await tram.ask("POST", `/api/approvals/${questions[0]!.checkpoint_id}`, { answer: "reject", by, why });
  await tram.until(run, "rejected");
}
