// The positions of nodes and edges. Pure: the same graph gives the same layout.
//
// A node is in the first rank that its inputs allow, which is its layer: nodes that can run in
// parallel are next to each other.
import { graphlib, layout as place } from "@dagrejs/dagre";
import type { Graph, GraphNode } from "../api/types";
import type { Band, Box, GraphLayout, Point } from "./layout-types";

const LETTER = 7.4;
const NODE_WIDTH_MIN = 184;
const NODE_WIDTH_MAX = 288;
/** The space for the status and the badges. */
const STATE_WIDTH = 62;
const BADGE_WIDTH = 18;
/** Slanted and round ends reduce the space for text. */
const SLANTED = new Set(["choose", "decision", "hub", "entry", "exit", "terminal", "compute"]);
const SLANT = 24;
const NODE_HEIGHT = 60;
const MARGIN = 32;
/** With more nodes, reducing crossings takes too long. */
const ORDERED_MAX = 200;

/** The size of a node, computed from its text without measuring. */
export function nodeSize(node: GraphNode): { width: number; height: number } {
  const label = node.label.length * LETTER + STATE_WIDTH;
  const detail = (node.tool ?? node.detail ?? "").length * LETTER * 0.86 + node.notes.length * BADGE_WIDTH;
  const width = Math.round(Math.min(NODE_WIDTH_MAX, Math.max(NODE_WIDTH_MIN, Math.max(label, detail) + 66 + (SLANTED.has(node.kind) ? SLANT : 0))));
  return { width, height: NODE_HEIGHT };
}

/** Ranks every node as early as its inputs allow. */
function rankEarliest(graph: graphlib.Graph): void {
  const open = new Map<string, number>();
  const ready: string[] = [];
  for (const id of graph.nodes()) {
    const count = graph.inEdges(id)?.length ?? 0;
    open.set(id, count);
    graph.node(id).rank = 0;
    if (count === 0) ready.push(id);
  }
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    const rank = graph.node(id).rank as number;
    for (const edge of graph.outEdges(id) ?? []) {
      const next = graph.node(edge.w);
      next.rank = Math.max(next.rank, rank + (graph.edge(edge).minlen ?? 1));
      const left = (open.get(edge.w) ?? 1) - 1;
      open.set(edge.w, left);
      if (left === 0) ready.push(edge.w);
    }
  }
}

/** Computes the layout. Edges to missing nodes are dropped. */
export function layout(graph: Graph): GraphLayout {
  const drawn = new graphlib.Graph({ multigraph: true });
  drawn.setGraph({
    rankdir: graph.direction,
    nodesep: 36,
    ranksep: 40,
    edgesep: 18,
    marginx: MARGIN,
    marginy: MARGIN,
    ranker: rankEarliest as unknown as string,
  });
  for (const node of graph.nodes) drawn.setNode(node.id, nodeSize(node));
  for (const edge of graph.edges) {
    if (!drawn.hasNode(edge.from) || !drawn.hasNode(edge.to)) continue;
    const label = edge.label ? { width: edge.label.length * 6.6 + 10, height: 18, labelpos: "c" } : {};
    drawn.setEdge(edge.from, edge.to, { minlen: 1, weight: edge.kind === "error" ? 1 : 2, ...label }, edge.id);
  }
  place(drawn, { disableOptimalOrderHeuristic: graph.nodes.length > ORDERED_MAX });
  return readLayout(graph, drawn);
}

function readLayout(graph: Graph, drawn: graphlib.Graph): GraphLayout {
  const boxes: GraphLayout["boxes"] = {};
  for (const node of graph.nodes) {
    const { x, y, width, height } = drawn.node(node.id) as Box;
    boxes[node.id] = { x: x - width / 2, y: y - height / 2, width, height };
  }
  const ways: GraphLayout["ways"] = {};
  for (const edge of drawn.edges()) {
    const { points, x, y } = drawn.edge(edge) as { points: Point[]; x?: number; y?: number };
    const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
    ways[edge.name ?? ""] = { points: attach(points, boxes[edge.v], boxes[edge.w], graph.direction === "TB"), label: { x: x ?? middle.x, y: y ?? middle.y } };
  }
  const { width = 0, height = 0 } = drawn.graph() as { width?: number; height?: number };
  return { boxes, ways, bands: bands(graph, boxes, width, height), width, height };
}

/** The share of a node's side that edges may end at: corners are round or slanted. */
const ATTACH_SHARE = 0.7;

/** Moves the ends of an edge away from the corners of its nodes. */
function attach(points: Point[], from: Box | undefined, to: Box | undefined, upright: boolean): Point[] {
  const inside = (point: Point, box: Box | undefined): Point => {
    if (!box) return point;
    const [middle, room] = upright ? [box.x + box.width / 2, (box.width * ATTACH_SHARE) / 2] : [box.y + box.height / 2, (box.height * ATTACH_SHARE) / 2];
    const clamped = (at: number) => Math.min(middle + room, Math.max(middle - room, at));
    return upright ? { ...point, x: clamped(point.x) } : { ...point, y: clamped(point.y) };
  };
  const last = points.length - 1;
  return points.map((point, at) => (at === 0 ? inside(point, from) : at === last ? inside(point, to) : point));
}

/** One band per rank, across the whole diagram. */
function bands(graph: Graph, boxes: GraphLayout["boxes"], width: number, height: number): Band[] {
  const upright = graph.direction === "TB";
  const ranks = new Map<number, { from: number; to: number; layer?: number }>();
  for (const node of graph.nodes) {
    const box = boxes[node.id];
    if (!box) continue;
    const [at, long] = upright ? [box.y, box.height] : [box.x, box.width];
    const middle = Math.round(at + long / 2);
    const rank = ranks.get(middle) ?? { from: at, to: at + long };
    ranks.set(middle, { from: Math.min(rank.from, at), to: Math.max(rank.to, at + long), layer: rank.layer ?? node.layer });
  }
  const sorted = [...ranks].sort(([a], [b]) => a - b).map(([, rank]) => rank);
  return sorted.map(({ from, to, layer }, rank) =>
    upright
      ? { rank, layer, x: 0, y: from - 12, width, height: to - from + 24 }
      : { rank, layer, x: from - 12, y: 0, width: to - from + 24, height },
  );
}
