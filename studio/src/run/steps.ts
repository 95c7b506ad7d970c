// The steps of a run in columns: fifty thousand of them take little memory and are fast to search.
import type { Timeline, TimelineStep } from "../api/types";

/** The meaning of a step's status code, in the API's order. */
export const CODES = ["running", "succeeded", "failed", "waiting", "asking"] as const;
/** The code of a bar that the page adds for an open question. */
const ASKING = 4;

export type Steps = {
  /** The nodes of the steps; a step refers to one by its index here. */
  nodes: string[];
  rows: TimelineStep[];
};

export const noSteps: Steps = { nodes: [], rows: [] };

export const stepOf = (row: TimelineStep) => row[0];
export const nodeOf = (steps: Steps, row: TimelineStep) => steps.nodes[row[1]] ?? "";
export const statusOf = (row: TimelineStep) => CODES[row[2]] ?? "running";
export const startOf = (row: TimelineStep) => row[3];
/** The duration of a step; until now if it is open. */
export const durationOf = (row: TimelineStep, now_ms: number) => row[4] ?? Math.max(0, now_ms - row[3]);
/** A step whose end is unknown. */
export const isOpen = (row: TimelineStep) => row[4] === null || statusOf(row) === "running" || statusOf(row) === "waiting" || statusOf(row) === "asking";

/** Adds a page of the timeline: it replaces everything from its first step on. */
export function addPage(before: Steps, page: Timeline): Steps {
  const nodes = [...before.nodes];
  const places = new Map(nodes.map((name, index) => [name, index]));
  const place = (name: string) => {
    const known = places.get(name);
    if (known !== undefined) return known;
    places.set(name, nodes.length);
    return nodes.push(name) - 1;
  };
  const moved = page.nodes.map(place);
  const same = page.nodes.every((_, index) => moved[index] === index);
  const fresh = same ? page.steps : page.steps.map((row) => [row[0], moved[row[1]] ?? 0, ...row.slice(2)] as unknown as TimelineStep);
  const first = fresh[0];
  if (!first) return before;
  return { nodes, rows: [...before.rows.slice(0, rowOf(before.rows, stepOf(first))), ...fresh] };
}

/** The index of the first row whose step is `step` or later. */
export function rowOf(rows: TimelineStep[], step: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (stepOf(rows[middle]!) < step) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The step after which the timeline has to be fetched again, because something there was still open. */
export function settledStep(rows: TimelineStep[]): number {
  const open = rows.findIndex(isOpen);
  const last = open < 0 ? rows[rows.length - 1] : rows[open - 1];
  return last ? stepOf(last) : 0;
}

/** The last step at a node, optionally up to a time. */
export function lastAt(steps: Steps, node: string, until = Infinity): number | undefined {
  const place = steps.nodes.indexOf(node);
  for (let index = steps.rows.length - 1; index >= 0; index--) {
    const row = steps.rows[index]!;
    if (row[1] === place && startOf(row) <= until) return stepOf(row);
  }
  return undefined;
}

/** The step number of the bar of an open question: no step of the run has it. */
export const ASK_STEP = Number.MAX_SAFE_INTEGER;

/** The steps with a bar for each node that waits for a person. */
export function withQuestions(steps: Steps, nodes: string[], since_ms: number): Steps {
  if (nodes.length === 0) return steps;
  const names = [...steps.nodes];
  const rows = [...steps.rows];
  for (const node of nodes) {
    const known = names.indexOf(node);
    rows.push([ASK_STEP, known < 0 ? names.push(node) - 1 : known, ASKING, since_ms, null, 1]);
  }
  return { nodes: names, rows };
}
