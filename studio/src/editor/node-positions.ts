// Tracks the lines of the nodes of the last valid graph while the text is edited.
import { StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Graph } from "../api/types";
import { extent, type Extent } from "./node-extent";
import { offset, type Lines } from "./flaws";

type NodePositions = { [node: string]: number };

const setPositions = StateEffect.define<NodePositions>();

export const nodePositions = StateField.define<NodePositions>({
  create: () => ({}),
  update(now, change) {
    let next = now;
    if (change.docChanged) next = Object.fromEntries(Object.entries(next).map(([node, place]) => [node, change.changes.mapPos(place, 1)]));
    for (const effect of change.effects) if (effect.is(setPositions)) next = effect.value;
    return next;
  },
});

/** Stores the positions of the nodes of a graph that was drawn from the current text. */
export function storePositions(view: EditorView, graph: Graph): void {
  const { doc } = view.state;
  const lines: Lines = { length: doc.length, lines: doc.lines, line: (number) => doc.line(number) };
  const known = graph.nodes.filter((node) => node.line !== undefined);
  view.dispatch({ effects: setPositions.of(Object.fromEntries(known.map((node) => [node.id, offset(lines, node.line ?? 1, node.column ?? 1)]))) });
}

/** The current lines of every node. */
export function nodeExtents(view: EditorView, format: string): { [node: string]: Extent } {
  const { doc } = view.state;
  const lines = doc.toString().split("\n");
  const found: { [node: string]: Extent } = {};
  for (const [node, place] of Object.entries(view.state.field(nodePositions))) {
    const line = doc.lineAt(place);
    const here = extent(lines, line.number, [...line.text.slice(0, place - line.from)].length + 1, format);
    if (here) found[node] = here;
  }
  return found;
}
