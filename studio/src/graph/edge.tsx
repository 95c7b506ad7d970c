// Renders an edge along the points of the layout; taken edges are heavier.
import { EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { GraphEdge } from "../api/types";
import { edgePath, type Point } from "./layout-types";

export type EdgeData = { edge: GraphEdge; points: Point[]; label: Point; taken: boolean; chosen: boolean; /** Set if a node can be added here. */ onInsert?: (from: string) => void };
export type FlowEdge = Edge<EdgeData, "shown">;

export const EdgeView = memo(function ShownEdgeView({ id, data, markerEnd }: EdgeProps<FlowEdge>) {
  if (!data) return null;
  const { edge, points, label, taken, chosen, onInsert } = data;
  return (
    <>
      <path
        id={id}
        className="way"
        d={edgePath(points)}
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
            {edge.kind === "error" && edge.label === "error" ? "on error" : edge.label}
          </span>
        </EdgeLabelRenderer>
      )}
      {onInsert && (
        <EdgeLabelRenderer>
          <button
            type="button"
            className="insert nodrag nopan"
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
