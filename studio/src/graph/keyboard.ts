// Arrow key navigation: along the edges, and between neighbouring nodes.
import type { Graph } from "../api/types";
import type { GraphLayout } from "./layout-types";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

export function isArrow(key: string): key is Arrow {
  return key === "ArrowUp" || key === "ArrowDown" || key === "ArrowLeft" || key === "ArrowRight";
}

/** The node that an arrow key leads to from `here`, or undefined. */
export function neighbour(graph: Graph, laid: GraphLayout, here: string, arrow: Arrow): string | undefined {
  const upright = graph.direction === "TB";
  const forth = upright ? "ArrowDown" : "ArrowRight";
  const back = upright ? "ArrowUp" : "ArrowLeft";
  const from = laid.boxes[here];
  if (!from) return undefined;
  const across = (id: string) => {
    const box = laid.boxes[id];
    return box ? (upright ? box.x + box.width / 2 : box.y + box.height / 2) : 0;
  };
  const along = (id: string) => {
    const box = laid.boxes[id];
    return box ? Math.round(upright ? box.y + box.height / 2 : box.x + box.width / 2) : 0;
  };
  const nearest = (ids: string[]) => ids.sort((a, b) => Math.abs(across(a) - across(here)) - Math.abs(across(b) - across(here)))[0];
  if (arrow === forth) return nearest(graph.edges.filter((edge) => edge.from === here && edge.to !== here).map((edge) => edge.to));
  if (arrow === back) return nearest(graph.edges.filter((edge) => edge.to === here && edge.from !== here).map((edge) => edge.from));
  const sign = arrow === "ArrowRight" || arrow === "ArrowDown" ? 1 : -1;
  const beside = graph.nodes
    .map((node) => node.id)
    .filter((id) => id !== here && along(id) === along(here) && (across(id) - across(here)) * sign > 0);
  return nearest(beside);
}

/** The nodes whose name, label or tool contains the text, best first. */
export function matching(graph: Graph, words: string): string[] {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return [];
  const place = (text: string | undefined) => {
    const at = text?.toLowerCase().indexOf(wanted) ?? -1;
    return at < 0 ? Infinity : at;
  };
  return graph.nodes
    .map((node) => ({ id: node.id, at: Math.min(place(node.id), place(node.label), place(node.tool) + 100) }))
    .filter(({ at }) => at < Infinity)
    .sort((a, b) => a.at - b.at)
    .map(({ id }) => id);
}
