// Dropping a kind of node into a graph: onto an edge, onto a node, or beside everything.
import { useState, type DragEvent } from "react";

/** The type of the dragged data. */
export const KIND_TYPE = "application/x-tramline-kind";

/** Where something was dropped: after a node, on an edge between two, or nowhere in particular. */
export type DropPlace = { after?: string };

function placeOf(event: DragEvent): DropPlace {
  const under = event.target instanceof Element ? event.target : null;
  const node = under?.closest<HTMLElement>("[data-node]")?.dataset["node"];
  const edge = under?.closest<HTMLElement>("[data-insert]")?.dataset["insert"] ?? under?.closest<SVGElement>("path[data-edge]")?.dataset["edge"]?.split(">")[0];
  return { after: edge ?? node };
}

/** Handlers for a graph that takes dropped kinds, and whether something is being dragged over it. */
export function useDrop(onDropKind: ((kind: string, place: DropPlace) => void) | undefined) {
  const [over, setOver] = useState(false);
  if (!onDropKind) return { over: false, handlers: {} };
  const takes = (event: DragEvent) => event.dataTransfer.types.includes(KIND_TYPE);
  return {
    over,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (!takes(event)) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
        if (!over) setOver(true);
      },
      onDragLeave: (event: DragEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (event: DragEvent) => {
        const kind = event.dataTransfer.getData(KIND_TYPE);
        setOver(false);
        if (!kind) return;
        event.preventDefault();
        onDropKind(kind, placeOf(event));
      },
    },
  };
}
