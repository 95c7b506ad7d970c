// The elements of a graph for React Flow. Unchanged elements keep their identity, so that only the others render again.
import { MarkerType } from "@xyflow/react";
import { useMemo, useRef } from "react";
import type { FlowEdge } from "./edge";
import type { GraphLayout } from "./layout-types";
import type { NodeData, FlowNode } from "./node";
import type { Folding } from "./use-folding";
import type { GraphProps } from "./view";

function same<T extends object>(a: T, b: T): boolean {
  const keys = Object.keys(b) as (keyof T)[];
  return keys.length === Object.keys(a).length && keys.every((key) => Object.is(a[key], b[key]));
}

/** The nodes and edges to draw, and the one node in the tab order. */
export function useElements(props: GraphProps & { laid: GraphLayout; folding: Folding }): { nodes: FlowNode[]; edges: FlowEdge[]; tab?: string } {
  const { graph, laid, selected, states, times, taken, breakpoints, flaws, marks, remarks, onBreak, onConnect, onInsert, folding } = props;
  const before = useRef(new Map<string, FlowNode>());
  const ways = useRef(new Map<string, FlowEdge>());
  const tab = selected && laid.boxes[selected] ? selected : graph.nodes[0]?.id;

  const nodes = useMemo(() => {
    const now = new Map<string, FlowNode>();
    for (const node of graph.nodes) {
      const box = laid.boxes[node.id];
      if (!box) continue;
      const data: NodeData = {
        node,
        status: states?.[node.id]?.status,
        visits: states?.[node.id]?.visits,
        time: times?.[node.id],
        live: states !== undefined,
        chosen: node.id === selected,
        tab: node.id === tab,
        breakpoint: breakpoints?.[node.id],
        breakable: !!onBreak,
        flaws: flaws?.[node.id],
        mark: marks?.[node.id],
        remark: remarks?.[node.id],
        upright: graph.direction === "TB",
        connectable: !!onConnect,
        group: folding.groups.get(node.id)?.members.length,
        folded: folding.folded.has(node.id),
        width: box.width,
        height: box.height,
      };
      const old = before.current.get(node.id);
      const stays = old && same(old.data, data) && old.position.x === box.x && old.position.y === box.y;
      now.set(node.id, stays ? old : flowNode(node.id, box, data));
    }
    before.current = now;
    return [...now.values()];
  }, [graph, laid, selected, tab, states, times, breakpoints, flaws, marks, remarks, onBreak, onConnect, folding.groups, folding.folded]);

  const edges = useMemo(() => {
    const now = new Map<string, FlowEdge>();
    const written = new Set(onInsert ? graph.nodes.filter((node) => node.line !== undefined).map((node) => node.id) : []);
    for (const edge of graph.edges) {
      const way = laid.ways[edge.id];
      if (!way) continue;
      const chosen = selected !== undefined && (edge.from === selected || edge.to === selected);
      // Where a node has several successors, the new one is added in the text.
      const single = onInsert && edge.kind === "default" && written.has(edge.from) && graph.edges.filter((one) => one.from === edge.from).length === 1;
      const data = { edge, path: way.path, label: way.label, taken: taken?.has(`${edge.from}>${edge.to}`) ?? false, chosen, onInsert: single ? onInsert : undefined };
      const old = ways.current.get(edge.id);
      const markerEnd = { type: MarkerType.ArrowClosed, markerUnits: "userSpaceOnUse", width: 22, height: 22, color: data.taken ? "var(--taken)" : "var(--way)" };
      const fresh: FlowEdge = { id: edge.id, source: edge.from, target: edge.to, type: "shown", data, markerEnd, focusable: false };
      now.set(edge.id, old?.data && same(old.data, data) ? old : fresh);
    }
    ways.current = now;
    return [...now.values()];
  }, [graph, laid, selected, taken, onInsert]);

  return { nodes, edges, tab };
}

function flowNode(id: string, box: { x: number; y: number; width: number; height: number }, data: NodeData): FlowNode {
  const { width, height } = box;
  return { id, type: "shown", position: { x: box.x, y: box.y }, width, height, measured: { width, height }, data, draggable: false, focusable: false };
}
