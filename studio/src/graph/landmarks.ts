// The names that are shown when a graph is too far away for the text of its nodes: as many as fit, the important ones first. Pure.
import type { Graph } from "../api/types";
import type { GraphLayout } from "./layout-types";

export type Landmark = { id: string; label: string; x: number; y: number };

/** The width of a letter and the height of a name on the screen, in pixels. */
const LETTER_PX = 7.2;
const PADDING_PX = 14;
const HEIGHT_PX = 22;
/** Longer names are cut. */
const LETTERS_MAX = 26;
/** More names are not read. */
const LANDMARKS_MAX = 80;

/** The landmarks at a zoom; `weight` says how important a node is. */
export function landmarks(graph: Graph, laid: GraphLayout, zoom: number, weight: (node: string) => number): Landmark[] {
  const sorted = graph.nodes.map((node, at) => ({ node, at, weight: weight(node.id) })).sort((a, b) => b.weight - a.weight || a.at - b.at);
  const taken: { x: number; y: number; wide: number }[] = [];
  const found: Landmark[] = [];
  for (const { node } of sorted) {
    const box = laid.boxes[node.id];
    if (!box) continue;
    const label = node.label.length > LETTERS_MAX ? `${node.label.slice(0, LETTERS_MAX - 1)}…` : node.label;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const wide = label.length * LETTER_PX + PADDING_PX;
    const free = taken.every((other) => Math.abs(other.x - x) * zoom >= (other.wide + wide) / 2 || Math.abs(other.y - y) * zoom >= HEIGHT_PX);
    if (!free) continue;
    taken.push({ x, y, wide });
    found.push({ id: node.id, label, x, y });
    if (found.length === LANDMARKS_MAX) break;
  }
  return found;
}

/** The zoom of which landmarks are computed: in steps, so that they stay while the zoom moves a little. */
export function zoomStep(zoom: number): number {
  return 2 ** (Math.floor(Math.log2(zoom) * 4) / 4);
}
