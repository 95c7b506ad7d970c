// How a plan changed: two graphs laid over each other, what is new, gone or otherwise. Pure.
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import type { Mark } from "../graph/node";

export type Change = {
  /** Both graphs in one: what is gone is still drawn. */
  graph: Graph;
  marks: { [node: string]: Mark };
  remarks: { [node: string]: string };
  added: string[];
  removed: string[];
  changed: string[];
  /** Ways that are new or gone between nodes that were there before, as `from>to`. */
  ways: { added: string[]; removed: string[] };
};

const way = (edge: GraphEdge) => `${edge.from}>${edge.to}>${edge.label ?? ""}>${edge.kind}`;
/** What makes two nodes of one id the same. Places in a document do not. */
const told = (node: GraphNode) => JSON.stringify([node.kind, node.label, node.detail ?? "", node.tool ?? "", node.notes]);

export function changeOf(before: Graph, after: Graph): Change {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const now = new Map(after.nodes.map((node) => [node.id, node]));
  const added = after.nodes.filter((node) => !old.has(node.id)).map((node) => node.id);
  const gone = before.nodes.filter((node) => !now.has(node.id));
  const changed = after.nodes.filter((node) => old.has(node.id) && told(old.get(node.id)!) !== told(node)).map((node) => node.id);
  const ways = new Set(after.edges.map(way));
  const oldWays = new Set(before.edges.map(way));
  const lost = before.edges.filter((edge) => !ways.has(way(edge)));
  const removed = gone.map((node) => node.id);
  const marks: { [node: string]: Mark } = {};
  const remarks: { [node: string]: string } = {};
  const mark = (ids: string[], as: Mark) => ids.forEach((id) => ((marks[id] = as), (remarks[id] = as)));
  mark(added, "added");
  mark(removed, "removed");
  mark(changed, "changed");
  const fresh = new Set(added);
  return {
    graph: { ...after, nodes: [...after.nodes, ...gone], edges: [...after.edges, ...lost.map((edge) => ({ ...edge, id: `gone-${edge.id}` }))] },
    marks,
    remarks,
    added,
    removed,
    changed,
    ways: {
      added: after.edges.filter((edge) => !oldWays.has(way(edge)) && !fresh.has(edge.from) && !fresh.has(edge.to)).map((edge) => `${edge.from}>${edge.to}`),
      removed: lost.map((edge) => `${edge.from}>${edge.to}`),
    },
  };
}

/** Whether there is anything to see. */
export function isChange(change: Change): boolean {
  return change.added.length + change.removed.length + change.changed.length + change.ways.added.length + change.ways.removed.length > 0;
}
