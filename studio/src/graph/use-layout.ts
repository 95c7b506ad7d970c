// The layout of a graph, computed once per structure.
import { useEffect, useState } from "react";
import type { Graph } from "../api/types";
import type { GraphLayout } from "./layout-types";

type Reply = { turn: number; laid?: GraphLayout; wrong?: string };

/** The number of cached layouts: time travel back and forth reuses them. */
const KEPT_MAX = 24;
const layouts = new Map<string, GraphLayout>();
const pending = new Map<number, { done: (laid: GraphLayout) => void; failed: (wrong: Error) => void }>();
let worker: Worker | undefined;
let turns = 0;

function startWorker(): Worker {
  if (worker) return worker;
  worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module", name: "layout" });
  worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
    const asker = pending.get(data.turn);
    pending.delete(data.turn);
    if (data.laid) asker?.done(data.laid);
    else asker?.failed(new Error(data.wrong ?? "no layout received"));
  });
  return worker;
}

/** Everything that a layout depends on. */
export function layoutKey(graph: Graph): string {
  const nodes = graph.nodes.map((node) => [node.id, node.label, node.tool ?? node.detail ?? "", node.notes.length, node.layer ?? -1]);
  const edges = graph.edges.map((edge) => [edge.id, edge.from, edge.to, edge.label ?? "", edge.kind]);
  return JSON.stringify([graph.direction, nodes, edges]);
}

async function computeLayout(graph: Graph, key: string): Promise<GraphLayout> {
  const laid = await new Promise<GraphLayout>((done, failed) => {
    const turn = ++turns;
    pending.set(turn, { done, failed });
    startWorker().postMessage({ turn, graph });
  });
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
