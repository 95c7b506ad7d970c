// The difference of two plans: both graphs merged, with what is added, removed or changed. Pure.
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import type { Mark } from "../graph/node";

export type PlanChange = {
  /** Both graphs in one: removed nodes are still drawn. */
  graph: Graph;
  marks: { [node: string]: Mark };
  remarks: { [node: string]: string };
  added: string[];
  removed: string[];
  changed: string[];
  /** Added or removed edges between existing nodes, as `from>to`. */
  ways: { added: string[]; removed: string[] };
};

const edgeKey = (edge: GraphEdge) => `${edge.from}>${edge.to}>${edge.label ?? ""}>${edge.kind}`;
/** What makes two nodes with the same id equal; their position in a document does not matter. */
const nodeContent = (node: GraphNode) => JSON.stringify([node.kind, node.label, node.detail ?? "", node.tool ?? "", node.notes]);

export function planChange(before: Graph, after: Graph): PlanChange {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const now = new Map(after.nodes.map((node) => [node.id, node]));
  const added = after.nodes.filter((node) => !old.has(node.id)).map((node) => node.id);
  const gone = before.nodes.filter((node) => !now.has(node.id));
  const changed = after.nodes.filter((node) => old.has(node.id) && nodeContent(old.get(node.id)!) !== nodeContent(node)).map((node) => node.id);
  const ways = new Set(after.edges.map(edgeKey));
  const oldWays = new Set(before.edges.map(edgeKey));
  const lost = before.edges.filter((edge) => !ways.has(edgeKey(edge)));
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
      added: after.edges.filter((edge) => !oldWays.has(edgeKey(edge)) && !fresh.has(edge.from) && !fresh.has(edge.to)).map((edge) => `${edge.from}>${edge.to}`),
      removed: lost.map((edge) => `${edge.from}>${edge.to}`),
    },
  };
}

/** Whether there is any difference. */
export function isChange(change: PlanChange): boolean {
  return change.added.length + change.removed.length + change.changed.length + change.ways.added.length + change.ways.removed.length > 0;
}
