// A graph as a small picture: nodes by kind, edges, no text.
import { useEffect, useState } from "react";
import type { Graph } from "../api/types";
import { kindLook } from "./node-kinds";
import type { GraphLayout } from "./layout-types";
import { layoutOf } from "./use-layout";

/** Graphs with more nodes are not drawn: nothing could be told apart. */
const NODES_MAX = 120;

export function MiniGraph({ load }: { load: () => Promise<Graph> }) {
  const [drawn, setDrawn] = useState<{ graph: Graph; laid: GraphLayout }>();
  useEffect(() => {
    let over = false;
    const make = async () => {
      const graph: Graph = { ...(await load()), direction: "LR" };
      if (graph.nodes.length > NODES_MAX || over) return;
      const laid = await layoutOf(graph);
      if (!over) setDrawn({ graph, laid });
    };
    // Without a picture the card says the same in words.
    make().catch(() => {});
    return () => {
      over = true;
    };
    // The graph of a card does not change.
  }, []);
  if (!drawn) return <div className="mini-graph" aria-hidden="true" />;
  const { graph, laid } = drawn;
  return (
    <svg className="mini-graph" viewBox={`0 0 ${laid.width} ${laid.height}`} preserveAspectRatio="xMidYMid meet" aria-hidden="true">
      {graph.edges.map((edge) => {
        const way = laid.ways[edge.id];
        return way && <path key={edge.id} className="mini-way" d={way.path} />;
      })}
      {graph.nodes.map((node) => {
        const box = laid.boxes[node.id];
        return box && <rect key={node.id} x={box.x} y={box.y} width={box.width} height={box.height} rx={node.kind === "entry" || node.kind === "exit" ? box.height / 2 : 12} fill={`var(${kindLook(node.kind).colour})`} />;
      })}
    </svg>
  );
}
