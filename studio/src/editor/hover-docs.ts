// What a word of the text means, on hover: the schema's words for a field, a tool's description, what a node does.
import { hoverTooltip, type Tooltip } from "@codemirror/view";
import type { Extension } from "@codemirror/state";
import { placeOf, type Source } from "./completion-source";
import { suggest, suggestInStep, toolAt, toolNameAt } from "./completions";
import { findTools, toolInputSchema } from "./registry";

export type Explanation = { title: string; kind: string; about: string };

const WORD = /[\w$.:@/-]/;

/** Explains words from the current result of `source`. */
export function hoverDocs(source: () => Source): Extension {
  return hoverTooltip(async (view, pos): Promise<Tooltip | null> => {
    const line = view.state.doc.lineAt(pos);
    const span = wordAt(line.text, pos - line.from);
    if (!span) return null;
    const text = view.state.doc.toString();
    const found = await explain(source(), text, span.word, line.from + span.from, line.number, span.from + 1);
    if (!found) return null;
    return { pos: line.from + span.from, end: line.from + span.to, above: true, create: () => ({ dom: drawn(found) }) };
  });
}

/** The word around a position of a line, without the colon of a key. */
export function wordAt(line: string, at: number): { word: string; from: number; to: number } | undefined {
  let [from, to] = [at, at];
  while (from > 0 && WORD.test(line[from - 1]!)) from--;
  while (to < line.length && WORD.test(line[to]!)) to++;
  const word = line.slice(from, to).replace(/[:.]+$/, "");
  return word === "" ? undefined : { word, from, to: from + word.length };
}

/** What a word at a place means; undefined if there is nothing to say about it. */
export async function explain({ format, schema, known, about }: Source, text: string, word: string, position: number, line: number, column: number): Promise<Explanation | undefined> {
  const node = about?.(word);
  const place = placeOf(text, format, position, line, column);
  if (!place) return node ? { title: word, kind: "node", about: node } : undefined;
  const inStep = format === "markdown";
  const called = toolAt(place, inStep);
  const wanted = toolNameAt(place, format);
  const [tools, takes] = await Promise.all([
    wanted ? findTools(word, wanted.server) : undefined,
    called === undefined ? undefined : toolInputSchema(called),
  ]);
  // The word itself must not count as given: a field that is there is not suggested again.
  const { [word]: _, ...beside } = place.beside;
  const all = (inStep ? suggestInStep : suggest)(schema, { ...place, beside }, { ...known, tools: tools?.tools ?? known.tools, takes });
  const bare = (name: string) => name.split(":").pop();
  const one = all.find((each) => each.text === word) ?? (wanted ? all.find((each) => bare(each.text) === bare(word)) : undefined);
  if (one?.kind === "node" || (!one && node && place.key !== undefined)) return node ? { title: word, kind: "node", about: node } : undefined;
  if (!one?.about) return undefined;
  return { title: one.text, kind: one.kind === "key" ? (one.needed ? "field, required" : "field") : one.kind, about: one.about };
}

function drawn({ title, kind, about }: Explanation): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-hover-doc";
  const head = document.createElement("p");
  const name = document.createElement("strong");
  name.textContent = title;
  head.append(name, ` ${kind}`);
  const words = document.createElement("p");
  words.textContent = about;
  box.append(head, words);
  return box;
}
