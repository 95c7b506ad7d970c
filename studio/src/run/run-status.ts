// The status of a run as people read it: interrupted and partly failed runs say so. Pure.
import type { RunRow } from "../api/types";

export type Tone = "ok" | "run" | "wait" | "bad" | "idle";
export type StatusLook = { /** One word for filters, tests and styles. */ key: string; words: string; tone: Tone };

/** What the status is derived from; a row of the list has the number of failures, a run the failures. */
export type StatusFacts = {
  status: string;
  driven?: boolean;
  failures?: number | { count: number };
  questions?: { [key: string]: unknown }[];
};

const LOOKS: { [status: string]: StatusLook } = {
  running: { key: "running", words: "Running", tone: "run" },
  guided: { key: "guided", words: "Guided session", tone: "run" },
  paused: { key: "paused", words: "Paused", tone: "wait" },
  completed: { key: "completed", words: "Completed", tone: "ok" },
  failed: { key: "failed", words: "Failed", tone: "bad" },
  rejected: { key: "rejected", words: "Rejected", tone: "bad" },
  aborted: { key: "aborted", words: "Aborted", tone: "idle" },
  expired: { key: "expired", words: "Expired", tone: "idle" },
  interrupted: { key: "interrupted", words: "Interrupted", tone: "wait" },
};

/** What a paused run waits for. */
const PAUSES: { [kind: string]: string } = {
  approval: "Waiting for approval",
  effect: "Waiting for approval",
  break: "Paused at a breakpoint",
  layer: "Paused: plan review",
  budget: "Paused: budget used up",
  "in-doubt": "Paused: call in doubt",
  child: "Waiting for a called workflow",
};

export function failureCount(of: StatusFacts): number {
  return typeof of.failures === "number" ? of.failures : (of.failures?.count ?? 0);
}

/** A run that is `running` without a live process. */
export function isInterrupted(of: StatusFacts): boolean {
  return of.status === "running" && of.driven === false;
}

export function runStatusLook(of: StatusFacts): StatusLook {
  if (isInterrupted(of)) return LOOKS["interrupted"]!;
  const failures = failureCount(of);
  if (of.status === "completed" && failures > 0) {
    return { key: "partly-failed", words: `Completed with ${failures} failure${failures === 1 ? "" : "s"}`, tone: "wait" };
  }
  if (of.status === "paused") {
    const kind = of.questions?.map((question) => String(question["kind"] ?? "")).find((one) => PAUSES[one]);
    return kind ? { ...LOOKS["paused"]!, words: PAUSES[kind]! } : LOOKS["paused"]!;
  }
  return LOOKS[of.status] ?? { key: of.status, words: of.status, tone: "idle" };
}

const OVER = new Set(["completed", "failed", "rejected", "aborted", "expired"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

/** When a run started by itself: a fork when it was forked. */
export function startOfRun(run: Pick<RunRow, "started_ms" | "own_started_ms">): number {
  return run.own_started_ms ?? run.started_ms;
}
