// The layout of a graph, worked out once for each shape that it has.
import { useEffect, useState } from "react";
import type { Graph } from "../api/types";
import type { Laid } from "./layout-path";

type Reply = { turn: number; laid?: Laid; wrong?: string };

/** So many layouts are kept: going back and forth in time needs no second one. */
const KEPT_MAX = 24;
const kept = new Map<string, Laid>();
const waiting = new Map<number, { done: (laid: Laid) => void; failed: (wrong: Error) => void }>();
let worker: Worker | undefined;
let turns = 0;

function started(): Worker {
  if (worker) return worker;
  worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module", name: "layout" });
  worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
    const asker = waiting.get(data.turn);
    waiting.delete(data.turn);
    if (data.laid) asker?.done(data.laid);
    else asker?.failed(new Error(data.wrong ?? "no layout came"));
  });
  return worker;
}

/** What a layout follows from, and nothing else. */
export function shape(graph: Graph): string {
  const nodes = graph.nodes.map((node) => [node.id, node.label, node.detail ?? node.tool ?? "", node.layer ?? -1]);
  const edges = graph.edges.map((edge) => [edge.id, edge.from, edge.to, edge.label ?? "", edge.kind]);
  return JSON.stringify([graph.direction, nodes, edges]);
}

async function lay(graph: Graph, key: string): Promise<Laid> {
  const laid = await new Promise<Laid>((done, failed) => {
    const turn = ++turns;
    waiting.set(turn, { done, failed });
    started().postMessage({ turn, graph });
  });
  kept.set(key, laid);
  for (const old of kept.keys()) {
    if (kept.size <= KEPT_MAX) break;
    kept.delete(old);
  }
  return laid;
}

/** A graph with its layout. While a new one is worked out the last one stays. */
export function useLaid(graph: Graph): { graph: Graph; laid: Laid } | undefined {
  const key = shape(graph);
  const [last, setLast] = useState<{ key: string; graph: Graph; laid: Laid }>();
  useEffect(() => {
    if (kept.has(key)) return;
    let over = false;
    lay(graph, key).then(
      (laid) => !over && setLast({ key, graph, laid }),
      (wrong: unknown) => console.error(wrong),
    );
    return () => {
      over = true;
    };
    // The key says everything that a layout follows from.
  }, [key]);
  const ready = kept.get(key);
  if (ready) return { graph, laid: ready };
  return last;
}
