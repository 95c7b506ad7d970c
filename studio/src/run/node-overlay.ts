// What the page knows beyond the journal's statuses: who a node waits for, what was rejected or cut off. Pure.
import type { Question, Rejection } from "../api/types";
import { isOver } from "./run-status";
import type { NodeState } from "./fold";

export type OverlayFacts = {
  status: string;
  interrupted: boolean;
  rejection?: Rejection;
  questions: Pick<Question, "node">[];
};

type Nodes = { [node: string]: NodeState };

/** The statuses of nodes as the graph shows them. */
export function overlay(nodes: Nodes, facts: OverlayFacts): Nodes {
  const asked = new Set(facts.questions.map((question) => question.node));
  const cut = isOver(facts.status) && facts.status !== "completed";
  const shown: Nodes = {};
  for (const [id, state] of Object.entries(nodes)) {
    const { status, visits } = state;
    if (facts.rejection?.node === id) shown[id] = { status: "rejected", visits };
    else if (asked.has(id) && (status === "waiting" || status === "idle")) shown[id] = { status: "asking", visits };
    // A step that was open when the run ended or its process died did not just not happen.
    else if (cut && status === "skipped" && visits > 0) shown[id] = { status: "stopped", visits };
    else if (facts.interrupted && (status === "running" || status === "retrying")) shown[id] = { status: "stopped", visits };
    else shown[id] = state;
  }
  return shown;
}
