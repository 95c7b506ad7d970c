// Node sizes, and the layout that the server computes from them. Pure: the same graph gives the same layout.
//
// A node is in the first rank that its inputs allow, which is its layer: nodes that can run in
// parallel are next to each other. The page knows how large it draws a node; the positions come from
// the same code that lays out the SVG files of the command line.
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import type { Band, GraphLayout, LayoutReply, LayoutRequest } from "./layout-types";

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
/** The height of an edge's label, and the width of one of its letters. */
const LABEL_HEIGHT = 18;
const LABEL_LETTER = 6.6;
const LABEL_PADDING = 10;

/** The size of a node, computed from its text without measuring. */
export function nodeSize(node: GraphNode): { width: number; height: number } {
  const label = node.label.length * LETTER + STATE_WIDTH;
  const detail = (node.tool ?? node.detail ?? "").length * LETTER * 0.86 + node.notes.length * BADGE_WIDTH;
  const width = Math.round(Math.min(NODE_WIDTH_MAX, Math.max(NODE_WIDTH_MIN, Math.max(label, detail) + 66 + (SLANTED.has(node.kind) ? SLANT : 0))));
  return { width, height: NODE_HEIGHT };
}

/** The words on an edge. */
export function edgeWords(edge: GraphEdge): string | undefined {
  return edge.kind === "error" && edge.label === "error" ? "on error" : edge.label;
}

/** What the server needs for the layout. */
export function layoutRequest(graph: Graph): LayoutRequest {
  const nodes = graph.nodes.map((node) => ({ id: node.id, ...nodeSize(node), ...(node.kind === "entry" ? { start: true } : {}) }));
  const edges = graph.edges.map((edge) => {
    const words = edgeWords(edge);
    return { id: edge.id, from: edge.from, to: edge.to, ...(words ? { label: { width: words.length * LABEL_LETTER + LABEL_PADDING, height: LABEL_HEIGHT } } : {}) };
  });
  return { direction: graph.direction, nodes, edges };
}

/** The layout of a graph from the server's reply. */
export function readLayout(graph: Graph, reply: LayoutReply): GraphLayout {
  const ways = Object.fromEntries(Object.entries(reply.edges).map(([id, { path, label }]) => [id, { path, label: { x: label[0], y: label[1] } }]));
  return { boxes: reply.nodes, ways, bands: bands(graph, reply.nodes, reply.width, reply.height), width: reply.width, height: reply.height };
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
