// The layout type, and the paths of its edges. Separate from the layout, so that the page can draw
// without the layout library.

export type Point = { x: number; y: number };
/** A node's box, by its upper left corner. */
export type Box = Point & { width: number; height: number };
/** A rank of the diagram; its layer if the graph has layers. */
export type Band = Box & { rank: number; layer?: number };
export type GraphLayout = {
  boxes: { [node: string]: Box };
  /** The points of each edge and the position of its label. */
  ways: { [edge: string]: { points: Point[]; label: Point } };
  bands: Band[];
  width: number;
  height: number;
};

/** A smooth SVG path through the points of an edge. */
export function edgePath(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const at = (point: Point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`;
  let drawn = `M${at(first)}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (!next) drawn += ` L${at(point)}`;
    else drawn += ` Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return drawn;
}
