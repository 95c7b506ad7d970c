// Generated graphs for tests.
import type { Graph, GraphEdge, GraphNode, NodeKind } from "../src/api/types";

export function node(id: string, kind: NodeKind = "call"): GraphNode {
  return { id, kind, label: id, notes: [] };
}

export function edge(from: string, to: string, more: Partial<GraphEdge> = {}): GraphEdge {
  return { id: `${from}-${to}-${more.label ?? ""}`, from, to, kind: "default", ...more };
}

export function graph(nodes: GraphNode[], edges: GraphEdge[]): Graph {
  return { name: "made", direction: "TB", nodes, edges };
}

/** A wide and deep graph: `layers` layers of `across` nodes, each fed by two of the layer before. */
export function wide(layers: number, across: number): Graph {
  const name = (layer: number, at: number) => `n${layer}_${at}`;
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  for (let layer = 0; layer < layers; layer++) {
    for (let at = 0; at < across; at++) {
      nodes.push(node(name(layer, at)));
      if (layer === 0) continue;
      edges.push(edge(name(layer - 1, at), name(layer, at)));
      edges.push(edge(name(layer - 1, (at + 1) % across), name(layer, at)));
    }
  }
  return graph(nodes, edges);
}
