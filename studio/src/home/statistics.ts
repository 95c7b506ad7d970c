// What is known about each workflow from its latest runs. Pure.
import type { RunRow } from "../api/types";
import { failureCount } from "../run/run-status";

export type WorkflowFacts = {
  /** The latest run. */
  last?: RunRow;
  /** Of the finished runs, how many completed without a failure, in percent. */
  success?: number;
  finished: number;
};

const ENDED = new Set(["completed", "failed", "rejected", "expired"]);

/** Rows are newest first. A run that a person aborted says nothing about the workflow. */
export function workflowFacts(rows: RunRow[]): { [workflow: string]: WorkflowFacts } {
  const facts: { [workflow: string]: WorkflowFacts & { good: number } } = {};
  for (const row of rows) {
    const of = (facts[row.workflow] ??= { finished: 0, good: 0 });
    of.last ??= row;
    if (!ENDED.has(row.status)) continue;
    of.finished++;
    if (row.status === "completed" && failureCount(row) === 0) of.good++;
    of.success = Math.round((of.good / of.finished) * 100);
  }
  return facts;
}

/** Runs that did not do what they should: failed, partly failed or interrupted. */
export function troubled(rows: RunRow[]): RunRow[] {
  return rows.filter((row) => row.status === "failed" || (row.status === "completed" && failureCount(row) > 0) || (row.status === "running" && !row.driven));
}
