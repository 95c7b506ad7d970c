// What the page knows beyond the journal's statuses: who a node waits for, what was rejected or cut off. Pure.
import type { Graph, Question, Rejection } from "../api/types";
import { isOver } from "./run-status";
import type { NodeState } from "./fold";

export type OverlayFacts = {
  status: string;
  interrupted: boolean;
  rejection?: Rejection;
  questions: Pick<Question, "node">[];
  /** Nodes with a step that has not ended. */
  open?: ReadonlySet<string>;
  /** Nodes whose server is being started. */
  starting?: ReadonlySet<string>;
};

type Nodes = { [node: string]: NodeState };

/** The nodes that wait for a server which is being started: they come next or are running, and call it. */
export function startingNodes(graph: Graph, nodes: Nodes, taken: ReadonlySet<string>, servers: string[]): Set<string> {
  const found = new Set<string>();
  if (servers.length === 0) return found;
  for (const node of graph.nodes) {
    const server = node.tool?.split(":")[0];
    if (server === undefined || !servers.includes(server)) continue;
    const status = nodes[node.id]?.status ?? "idle";
    const next = graph.edges.some((edge) => edge.to === node.id && taken.has(`${edge.from}>${edge.to}`));
    if (status === "running" || (status === "idle" && next)) found.add(node.id);
  }
  return found;
}

/** The statuses of nodes as the graph shows them. */
export function overlay(nodes: Nodes, facts: OverlayFacts): Nodes {
  const asked = new Set(facts.questions.map((question) => question.node));
  const cut = isOver(facts.status) && facts.status !== "completed";
  const shown: Nodes = {};
  for (const [id, state] of Object.entries(nodes)) {
    const { status, visits } = state;
    if (facts.rejection?.node === id) shown[id] = { status: "rejected", visits };
    else if (asked.has(id) && (status === "waiting" || status === "idle")) shown[id] = { status: "asking", visits };
    else if (facts.starting?.has(id) && (status === "idle" || status === "running")) shown[id] = { status: "starting", visits };
    // A step that was open when the run ended or its process died did not just not happen.
    else if (cut && status === "skipped" && (visits > 0 || facts.open?.has(id))) shown[id] = { status: "stopped", visits };
    else if (facts.interrupted && (status === "running" || status === "retrying" || status === "waiting")) shown[id] = { status: "stopped", visits };
    else shown[id] = state;
  }
  return shown;
}
