// One edge as it is drawn: along the points of the layout, taken ones heavier than the others.
import { EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { GraphEdge } from "../api/types";
import { path, type Point } from "./layout-path";

export type ShownWay = { edge: GraphEdge; points: Point[]; label: Point; taken: boolean; chosen: boolean };
export type ShownEdge = Edge<ShownWay, "shown">;

export const ShownEdgeView = memo(function ShownEdgeView({ id, data, markerEnd }: EdgeProps<ShownEdge>) {
  if (!data) return null;
  const { edge, points, label, taken, chosen } = data;
  return (
    <>
      <path
        id={id}
        className="way"
        d={path(points)}
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
            {edge.label}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
});
