// An SOP session laid over its flowchart. Pure.
import type { Json, SopSession } from "../api/types";
import type { Mark } from "../graph/node";

export type SessionOverlay = {
  taken: ReadonlySet<string>;
  marks: { [node: string]: Mark };
  /** The order in which each node was visited. */
  remarks: { [node: string]: string };
};

/** The maximum number of visits listed on a node. */
const NUMBERS_MAX = 5;

export function sessionOverlay(walk: SopSession): SessionOverlay {
  const taken = new Set<string>();
  const numbers: { [node: string]: number[] } = {};
  walk.path.forEach(({ node }, index) => {
    (numbers[node] ??= []).push(index + 1);
    const before = walk.path[index - 1]?.node;
    if (before !== undefined) taken.add(`${before}>${node}`);
  });
  const marks: { [node: string]: Mark } = {};
  const remarks: { [node: string]: string } = {};
  for (const node of Object.keys(numbers)) marks[node] = "passed";
  for (const [node, all] of Object.entries(numbers)) remarks[node] = `visit ${all.slice(0, NUMBERS_MAX).join(", ")}${all.length > NUMBERS_MAX ? "…" : ""}`;
  const known = new Set(walk.procedure.nodes.map((node) => node.id));
  // A rejected move is shown at its target, a rejected call at its node.
  const refused = walk.refused.map(({ target, node }) => (target && known.has(target) ? target : node));
  for (const node of new Set(refused)) {
    if (!node) continue;
    // A node that was reached after all, or whose other calls went well, was passed.
    if (!numbers[node]) marks[node] = "refused";
    remarks[node] = `${remarks[node] ? `${remarks[node]} · ` : ""}refused`;
  }
  if (walk.here) {
    marks[walk.here] = "here";
    remarks[walk.here] = `here${remarks[walk.here] ? ` · ${remarks[walk.here]}` : ""}`;
  }
  return { taken, marks, remarks };
}

export type TodoRow = { words: string; status: string; note?: string };

/** A task, in any of its forms. */
export function todoRow(given: Json): TodoRow {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return { words: String(given), status: "pending" };
  const text = (key: string) => (typeof given[key] === "string" ? given[key] : undefined);
  return { words: text("content") ?? JSON.stringify(given), status: text("status") ?? "pending", note: text("note") };
}

export const SIGNS: { [status: string]: string } = { pending: "○", in_progress: "◐", completed: "✓" };
