// The layout of a graph, asked for once per structure.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Graph } from "../api/types";
import { layoutRequest, readLayout } from "./layout";
import type { GraphLayout } from "./layout-types";

/** The number of cached layouts: time travel back and forth reuses them. */
const KEPT_MAX = 24;
const layouts = new Map<string, GraphLayout>();
/** Layouts on their way, so that two pictures of one graph ask once. */
const pending = new Map<string, Promise<GraphLayout>>();

/** Everything that a layout depends on. */
export function layoutKey(graph: Graph): string {
  const nodes = graph.nodes.map((node) => [node.id, node.label, node.tool ?? node.detail ?? "", node.notes.length, node.layer ?? -1]);
  const edges = graph.edges.map((edge) => [edge.id, edge.from, edge.to, edge.label ?? "", edge.kind]);
  return JSON.stringify([graph.direction, nodes, edges]);
}

function computeLayout(graph: Graph, key: string): Promise<GraphLayout> {
  const asked = pending.get(key) ?? fetchLayout(graph, key).finally(() => pending.delete(key));
  pending.set(key, asked);
  return asked;
}

async function fetchLayout(graph: Graph, key: string): Promise<GraphLayout> {
  const laid = readLayout(graph, await api.layout(layoutRequest(graph)));
  layouts.set(key, laid);
  for (const old of layouts.keys()) {
    if (layouts.size <= KEPT_MAX) break;
    layouts.delete(old);
  }
  return laid;
}

/** The layout of a graph, outside of a component. */
export function layoutOf(graph: Graph): Promise<GraphLayout> {
  const key = layoutKey(graph);
  const known = layouts.get(key);
  return known ? Promise.resolve(known) : computeLayout(graph, key);
}

/** A graph with its layout. The previous layout stays until the new one is ready. */
export function useLayout(graph: Graph): { graph: Graph; laid: GraphLayout } | undefined {
  const key = layoutKey(graph);
  const [last, setLast] = useState<{ key: string; graph: Graph; laid: GraphLayout }>();
  useEffect(() => {
    if (layouts.has(key)) return;
    let over = false;
    computeLayout(graph, key).then(
      (laid) => !over && setLast({ key, graph, laid }),
      (wrong: unknown) => console.error(wrong),
    );
    return () => {
      over = true;
    };
    // The key contains everything that a layout depends on.
  }, [key]);
  const ready = layouts.get(key);
  if (ready) return { graph, laid: ready };
  return last;
}
