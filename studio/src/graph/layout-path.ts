// What a layout is, and the lines of its edges. Apart from the layout, so that the page can draw
// without the library that lays out.

export type Point = { x: number; y: number };
/** A node's box, by its upper left corner. */
export type Box = Point & { width: number; height: number };
/** A rank across the picture; its layer where the graph has layers. */
export type Band = Box & { rank: number; layer?: number };
export type Laid = {
  boxes: { [node: string]: Box };
  /** The points of each edge and where its label stands. */
  ways: { [edge: string]: { points: Point[]; label: Point } };
  bands: Band[];
  width: number;
  height: number;
};

/** A smooth line through the points of an edge, as SVG has it. */
export function path(points: Point[]): string {
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
