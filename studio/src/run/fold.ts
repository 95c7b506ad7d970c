// How a run stands, as its events tell it. Pure: how it stood and an event give how it stands.
import type { At, Graph, NodeStatus, RunEvent } from "../api/types";

export type NodeState = { status: NodeStatus; visits: number };

export type Stood = {
  seq: number;
  at_ms: number;
  status: string;
  nodes: { [node: string]: NodeState };
  /** Edges that were taken, as `from>to`. */
  taken: ReadonlySet<string>;
  /** Which node each open step is at, for events that name only the step. */
  open: { [step: number]: string };
  /** Whether a way was taken that the graph does not name: the server knows which. */
  unsure?: boolean;
};

/** How a run stood, from what the server says of one place in its journal. */
export function stoodAt(at: At): Stood {
  return {
    seq: at.seq,
    at_ms: at.at_ms,
    status: at.status,
    nodes: at.nodes,
    taken: new Set(at.taken.map(([from, to]) => `${from}>${to}`)),
    open: {},
  };
}

export const nothing: Stood = { seq: 0, at_ms: 0, status: "running", nodes: {}, taken: new Set(), open: {} };

/** An event's name, however it is spelled. */
export function named(event: RunEvent): string {
  return event.event.replace(/_/g, "").toLowerCase();
}

/** The edges that a node's end takes: those of its label, or the plain ones. */
export function ways(graph: Graph, node: string, label: string | undefined): string[] {
  const out = graph.edges.filter((edge) => edge.from === node);
  const picked = out.filter((edge) => {
    if (label === "error") return edge.kind === "error";
    if (label === undefined || label === "default") return edge.kind === "default";
    return edge.label === label;
  });
  // Where the picked way goes on under no name of its own, it is the one the label names.
  const there = picked.length || label === undefined ? picked : out.filter((edge) => edge.to === label);
  return there.map((edge) => `${edge.from}>${edge.to}`);
}

/** Folds events over how a run stood. The same comes back where nothing changes. */
export function fold(before: Stood, events: RunEvent[], graph: Graph): Stood {
  const fresh = events.filter((event) => event.seq > before.seq);
  if (fresh.length === 0) return before;
  const next = { ...before, nodes: { ...before.nodes }, open: { ...before.open } };
  const taken = new Set(before.taken);
  for (const event of fresh) apply(next, taken, event, graph);
  return { ...next, taken: taken.size === before.taken.size ? before.taken : taken };
}

/** How the run stands after an event that is about the run, or as far as a step tells it. */
function standing(before: string, event: RunEvent): string {
  switch (named(event)) {
    case "finished":
      return event.status ?? before;
    case "paused":
      return "paused";
    case "watched":
    case "amended":
      return before;
    default:
      return "running";
  }
}

function apply(to: Stood, taken: Set<string>, event: RunEvent, graph: Graph): void {
  to.seq = event.seq;
  to.at_ms = event.at_ms;
  to.status = standing(to.status, event);
  const step = event.step;
  const node = event.node ?? (step === undefined ? undefined : to.open[step]);
  // What happens to one item of a step is not the end of the step.
  if (node === undefined || event.item !== undefined) return;
  const known = step !== undefined && to.open[step] !== undefined;
  const set = (status: NodeStatus, enters: boolean) => {
    const visits = (to.nodes[node]?.visits ?? 0) + (enters && !known ? 1 : 0);
    to.nodes[node] = { status, visits };
  };
  const begins = (status: NodeStatus) => {
    set(status, true);
    if (step !== undefined) to.open[step] = node;
  };
  const ends = (status: NodeStatus, label: string | undefined) => {
    set(status, true);
    if (step !== undefined) delete to.open[step];
    const found = ways(graph, node, label);
    if (found.length === 0 && label !== undefined) to.unsure = true;
    for (const way of found) taken.add(way);
  };
  switch (named(event)) {
    case "stepstarted":
    case "spread":
      return begins("running");
    case "waiting":
      return begins("waiting");
    case "attemptfailed":
      return set("retrying", false);
    case "stepfinished":
    case "gathered":
      return ends("succeeded", event.label);
    case "stepfailed":
      return ends("failed", "error");
    case "paused":
      return set("waiting", false);
    case "answered":
      return set("running", false);
    case "moved":
      return set("succeeded", true);
  }
}
