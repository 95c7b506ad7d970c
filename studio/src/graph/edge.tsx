// Renders an edge along the curve of the layout; taken edges are heavier.
import { EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { GraphEdge } from "../api/types";
import { edgeWords } from "./layout";
import type { Point } from "./layout-types";

export type EdgeData = { edge: GraphEdge; path: string; label: Point; taken: boolean; chosen: boolean; /** Set if a node can be added here. */ onInsert?: (from: string) => void };
export type FlowEdge = Edge<EdgeData, "shown">;

export const EdgeView = memo(function ShownEdgeView({ id, data, markerEnd }: EdgeProps<FlowEdge>) {
  if (!data) return null;
  const { edge, path, label, taken, chosen, onInsert } = data;
  return (
    <>
      <path
        id={id}
        className="way"
        d={path}
        markerEnd={markerEnd}
        data-kind={edge.kind}
        data-taken={taken || undefined}
        data-chosen={chosen || undefined}
        data-edge={`${edge.from}>${edge.to}`}
      />
      {edge.label && (
        <EdgeLabelRenderer>
          <span
            className="way-label"
            data-kind={edge.kind}
            data-taken={taken || undefined}
            style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
          >
            {edgeWords(edge)}
          </span>
        </EdgeLabelRenderer>
      )}
      {onInsert && (
        <EdgeLabelRenderer>
          <button
            type="button"
            className="insert nodrag nopan"
            data-insert={edge.from}
            aria-label={`Add a node after ${edge.from}`}
            style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
            onClick={() => onInsert(edge.from)}
          >
            +
          </button>
        </EdgeLabelRenderer>
      )}
    </>
  );
});
