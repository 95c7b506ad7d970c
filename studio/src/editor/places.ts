// Where the nodes of the last good graph stand in the text; whatever is typed moves them along.
import { StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Graph } from "../api/types";
import { extent, type Extent } from "./extent";
import { offset, type Lines } from "./flaws";

type Places = { [node: string]: number };

const setPlaces = StateEffect.define<Places>();

export const places = StateField.define<Places>({
  create: () => ({}),
  update(now, change) {
    let next = now;
    if (change.docChanged) next = Object.fromEntries(Object.entries(next).map(([node, place]) => [node, change.changes.mapPos(place, 1)]));
    for (const effect of change.effects) if (effect.is(setPlaces)) next = effect.value;
    return next;
  },
});

/** Keeps where the nodes of a graph stand, which was drawn from the text as it is now. */
export function keepPlaces(view: EditorView, graph: Graph): void {
  const { doc } = view.state;
  const lines: Lines = { length: doc.length, lines: doc.lines, line: (number) => doc.line(number) };
  const known = graph.nodes.filter((node) => node.line !== undefined);
  view.dispatch({ effects: setPlaces.of(Object.fromEntries(known.map((node) => [node.id, offset(lines, node.line ?? 1, node.column ?? 1)]))) });
}

/** The lines of every node as they are now. */
export function lies(view: EditorView, format: string): { [node: string]: Extent } {
  const { doc } = view.state;
  const lines = doc.toString().split("\n");
  const found: { [node: string]: Extent } = {};
  for (const [node, place] of Object.entries(view.state.field(places))) {
    const line = doc.lineAt(place);
    const here = extent(lines, line.number, [...line.text.slice(0, place - line.from)].length + 1, format);
    if (here) found[node] = here;
  }
  return found;
}
