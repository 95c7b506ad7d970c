// The state of a run, folded from its events. Pure.
import type { RunSnapshot, Graph, NodeStatus, RunEvent } from "../api/types";

export type NodeState = { status: NodeStatus; visits: number };

export type RunState = {
  seq: number;
  at_ms: number;
  status: string;
  nodes: { [node: string]: NodeState };
  /** Edges that were taken, as `from>to`. */
  taken: ReadonlySet<string>;
  /** The node of each open step, for events that name only the step. */
  open: { [step: number]: string };
  /** Whether an edge was taken that the graph does not name: only the server knows it. */
  unsure?: boolean;
};

/** The state of a run from the server's snapshot at a position of its journal. */
export function stateAt(at: RunSnapshot): RunState {
  return {
    seq: at.seq,
    at_ms: at.at_ms,
    status: at.status,
    nodes: at.nodes,
    taken: new Set(at.taken.map(([from, to]) => `${from}>${to}`)),
    open: {},
  };
}

export const initialState: RunState = { seq: 0, at_ms: 0, status: "running", nodes: {}, taken: new Set(), open: {} };

/** The name of an event, in either spelling. */
export function eventName(event: RunEvent): string {
  return event.event.replace(/_/g, "").toLowerCase();
}

/** The edges that a finished node takes: those of its label, or the default ones. */
export function takenEdges(graph: Graph, node: string, label: string | undefined): string[] {
  const out = graph.edges.filter((edge) => edge.from === node);
  const picked = out.filter((edge) => {
    if (label === "error") return edge.kind === "error";
    if (label === undefined || label === "default") return edge.kind === "default";
    return edge.label === label;
  });
  // If the chosen edge has no label of its own, it is the one that the label names.
  const there = picked.length || label === undefined ? picked : out.filter((edge) => edge.to === label);
  return there.map((edge) => `${edge.from}>${edge.to}`);
}

/** Folds events over a state. Returns the same object if nothing changes. */
export function fold(before: RunState, events: RunEvent[], graph: Graph): RunState {
  const fresh = events.filter((event) => event.seq > before.seq);
  if (fresh.length === 0) return before;
  const next = { ...before, nodes: { ...before.nodes }, open: { ...before.open } };
  const taken = new Set(before.taken);
  for (const event of fresh) apply(next, taken, event, graph);
  return { ...next, taken: taken.size === before.taken.size ? before.taken : taken };
}

/** The status of the run after an event. */
function runStatus(before: string, event: RunEvent): string {
  switch (eventName(event)) {
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

function apply(to: RunState, taken: Set<string>, event: RunEvent, graph: Graph): void {
  to.seq = event.seq;
  to.at_ms = event.at_ms;
  to.status = runStatus(to.status, event);
  const step = event.step;
  const node = event.node ?? (step === undefined ? undefined : to.open[step]);
  // An event of one item does not end the step.
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
    const found = takenEdges(graph, node, label);
    if (found.length === 0 && label !== undefined) to.unsure = true;
    for (const way of found) taken.add(way);
  };
  switch (eventName(event)) {
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
