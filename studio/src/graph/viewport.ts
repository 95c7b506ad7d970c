// Where the viewport starts: everything if its text stays readable, otherwise the beginning at a readable size. Pure.
import type { GraphLayout } from "./layout-types";

/** The smallest text of a node is 12.5 px; at this zoom it has 11 px. */
export const READABLE_ZOOM = 0.88;
/** Below this zoom only the names of nodes are shown, at the size of the page. */
export const FAR_ZOOM = 0.62;
export const ZOOM_MIN = 0.04;
export const ZOOM_MAX = 2;

const MARGIN = 12;
/** The space for the buttons above the graph. */
const TOP = 52;

export type Viewport = { x: number; y: number; zoom: number };

function fitZoom(laid: GraphLayout, width: number, height: number): number {
  const across = (width - 2 * MARGIN) / Math.max(laid.width, 1);
  const down = (height - TOP - MARGIN) / Math.max(laid.height, 1);
  return Math.min(1, across, down);
}

/** Everything, however small. */
export function wholeViewport(laid: GraphLayout, width: number, height: number): Viewport {
  const zoom = Math.max(ZOOM_MIN, fitZoom(laid, width, height));
  return { x: (width - laid.width * zoom) / 2, y: TOP + (height - TOP - MARGIN - laid.height * zoom) / 2, zoom };
}

/** At a readable size; a graph that does not fit is shown from its start, or around the node that matters. */
export function readableViewport(laid: GraphLayout, width: number, height: number, around?: string): Viewport {
  const zoom = fitZoom(laid, width, height);
  if (zoom >= READABLE_ZOOM) return wholeViewport(laid, width, height);
  const focus = laid.boxes[around ?? ""] ?? firstBox(laid);
  const place = (long: number, room: number, margin: number, at: number) => {
    const size = long * READABLE_ZOOM;
    if (size <= room - margin - MARGIN) return margin + (room - margin - MARGIN - size) / 2;
    // The node is in the middle, but nothing beyond the edges of the graph is shown.
    return Math.min(margin, Math.max(room - MARGIN - size, margin + (room - margin) / 2 - at * READABLE_ZOOM));
  };
  const at = focus ? { x: focus.x + focus.width / 2, y: focus.y + focus.height / 2 } : { x: 0, y: 0 };
  return { x: place(laid.width, width, MARGIN, at.x), y: place(laid.height, height, TOP, at.y), zoom: READABLE_ZOOM };
}

/** The box nearest to the start. */
function firstBox(laid: GraphLayout) {
  return Object.values(laid.boxes).reduce<GraphLayout["boxes"][string] | undefined>((best, box) => (!best || box.y + box.x < best.y + best.x ? box : best), undefined);
}
