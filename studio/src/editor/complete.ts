// Completion in the text editor, from what could stand at the cursor.
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import type { Schema } from "../api/types";
import { jsonPlace, yamlPlace } from "./path";
import { suggest, type Known, type Suggestion } from "./suggest";

export type Source = { format: string; schema?: Schema; known: Known };

const ICONS: { [kind in Suggestion["kind"]]: string } = { key: "property", value: "enum", node: "variable", tool: "function" };

/** Completes from whatever `source` says at that moment. */
export function completion(source: () => Source): Extension {
  return autocompletion({ override: [(context) => complete(context, source())], icons: false });
}

function complete(context: CompletionContext, { format, schema, known }: Source): CompletionResult | null {
  const { doc } = context.state;
  const isJson = format === "dag" || format === "ir";
  if (!isJson && format !== "yaml") return null;
  const line = doc.lineAt(context.pos);
  const word = context.matchBefore(isJson ? /"?[\w$.:@/-]*/ : /[\w$.:@/-]*/);
  const from = word?.from ?? context.pos;
  if (!context.explicit && from === context.pos && !/(: |- )$/.test(line.text.slice(0, context.pos - line.from))) return null;
  const lines = isJson ? [] : doc.toString().split("\n");
  const place = isJson ? jsonPlace(doc.toString(), context.pos) : yamlPlace(lines, line.number, context.pos - line.from + 1);
  const found = suggest(schema, place, known);
  if (found.length === 0) return null;
  return { from, options: found.map((one) => option(one, isJson)), validFor: /^"?[\w$.:@/-]*$/ };
}

function option({ text, kind, about }: Suggestion, isJson: boolean): Completion {
  const written = isJson && !/^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? JSON.stringify(text) : text;
  const apply = kind === "key" ? `${written}: ` : written;
  return { label: isJson ? written : text, displayLabel: text, type: ICONS[kind], detail: kind, info: about, apply };
}
