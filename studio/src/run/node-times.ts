// How long each node took or has been busy, and how many of its items are done, from the steps of a run. Pure.
import type { NodeTime } from "../graph/node";
import { durationOf, isOpen, nodeOf, startOf, statusOf, type Steps } from "./steps";

type Count = { done: number; failed: number; open: number };

/** Times per node; `until_ms` leaves out what came later, and `live` lets open steps tick. */
export function nodeTimes(steps: Steps, live: boolean, until_ms = Infinity): { [node: string]: NodeTime } {
  const times: { [node: string]: NodeTime } = {};
  const items: { [node: string]: Count } = {};
  for (const row of steps.rows) {
    if (startOf(row) > until_ms) continue;
    const node = nodeOf(steps, row);
    const ended = !isOpen(row) && startOf(row) + durationOf(row, 0) <= until_ms;
    if (row[6] !== undefined) {
      const of = (items[node] ??= { done: 0, failed: 0, open: 0 });
      if (!ended) of.open++;
      else if (statusOf(row) === "failed") of.failed++;
      else of.done++;
      continue;
    }
    if (ended) times[node] = { took_ms: durationOf(row, 0) };
    else times[node] = live ? { since_ms: startOf(row) } : {};
  }
  for (const [node, of] of Object.entries(items)) times[node] = { ...times[node], items: itemWords(of) };
  return times;
}

function itemWords({ done, failed, open }: Count): string {
  const parts = [`${done + failed} of ${done + failed + open} items`];
  if (failed > 0) parts.push(`${failed} failed`);
  return parts.join(", ");
}
