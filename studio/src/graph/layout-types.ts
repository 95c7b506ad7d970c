// The layout type, the request for it, and the server's reply.

export type Point = { x: number; y: number };
/** A node's box, by its upper left corner. */
export type Box = Point & { width: number; height: number };
/** A rank of the diagram; its layer if the graph has layers. */
export type Band = Box & { rank: number; layer?: number };
export type GraphLayout = {
  boxes: { [node: string]: Box };
  /** The curve of each edge as SVG path data, and the centre of its label. */
  ways: { [edge: string]: { path: string; label: Point } };
  bands: Band[];
  width: number;
  height: number;
};

type Size = { width: number; height: number };
export type LayoutRequest = {
  direction: "TB" | "LR";
  nodes: ({ id: string; start?: boolean } & Size)[];
  edges: { id: string; from: string; to: string; label?: Size }[];
};
export type LayoutReply = Size & {
  nodes: { [node: string]: Box };
  edges: { [edge: string]: { path: string; label: [number, number] } };
};
