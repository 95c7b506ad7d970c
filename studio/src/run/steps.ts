// The steps of a run in columns: fifty thousand of them take little room and are quick to look through.
import type { Timeline, TimelineStep } from "../api/types";

/** What a step's status code means, in the API's order. */
export const CODES = ["running", "succeeded", "failed", "waiting"] as const;

export type Steps = {
  /** The nodes that steps were at; a step names one by its place here. */
  nodes: string[];
  rows: TimelineStep[];
};

export const none: Steps = { nodes: [], rows: [] };

export const stepOf = (row: TimelineStep) => row[0];
export const nodeOf = (steps: Steps, row: TimelineStep) => steps.nodes[row[1]] ?? "";
export const statusOf = (row: TimelineStep) => CODES[row[2]] ?? "running";
export const startOf = (row: TimelineStep) => row[3];
/** How long a step took; one that is open, until now. */
export const longOf = (row: TimelineStep, now_ms: number) => row[4] ?? Math.max(0, now_ms - row[3]);
/** A step whose end is not known yet. */
export const isOpen = (row: TimelineStep) => row[4] === null || statusOf(row) === "running" || statusOf(row) === "waiting";

/** Adds a page of the timeline: what it holds replaces what was known from its first step on. */
export function add(before: Steps, page: Timeline): Steps {
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
  return { nodes, rows: [...before.rows.slice(0, find(before.rows, stepOf(first))), ...fresh] };
}

/** The place of the first row whose step is `step` or later. */
export function find(rows: TimelineStep[], step: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (stepOf(rows[middle]!) < step) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** After which step the timeline has to be asked again, since something there was still open. */
export function settled(rows: TimelineStep[]): number {
  const open = rows.findIndex(isOpen);
  const last = open < 0 ? rows[rows.length - 1] : rows[open - 1];
  return last ? stepOf(last) : 0;
}

/** The last step at a node, up to a moment if one is given. */
export function lastAt(steps: Steps, node: string, until = Infinity): number | undefined {
  const place = steps.nodes.indexOf(node);
  for (let index = steps.rows.length - 1; index >= 0; index--) {
    const row = steps.rows[index]!;
    if (row[1] === place && startOf(row) <= until) return stepOf(row);
  }
  return undefined;
}
