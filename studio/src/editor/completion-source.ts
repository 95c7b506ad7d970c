// Completion in the text editor.
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import type { Schema } from "../api/types";
import { jsonPath, markdownPath, yamlPath, type CursorPath } from "./cursor-path";
import { findTools, toolInputSchema } from "./registry";
import { toolAt, suggest, suggestInStep, toolNameAt, type DocumentContext, type Suggestion } from "./completions";

export type Source = { format: string; schema?: Schema; known: DocumentContext; /** What a node does, in a few words. */ about?: (node: string) => string | undefined };

const ICONS: { [kind in Suggestion["kind"]]: string } = { key: "property", value: "enum", node: "variable", tool: "function" };

/** Completes from the current result of `source`. */
export function completion(source: () => Source): Extension {
  return autocompletion({ override: [(context) => complete(context, source())], icons: false });
}

async function complete(context: CompletionContext, { format, schema, known }: Source): Promise<CompletionResult | null> {
  const { doc } = context.state;
  const isJson = format === "dag" || format === "ir";
  const line = doc.lineAt(context.pos);
  const word = context.matchBefore(isJson ? /"?[\w$.:@/-]*/ : /[\w$.:@/-]*/);
  const from = word?.from ?? context.pos;
  if (!context.explicit && from === context.pos && !/(: |- )$/.test(line.text.slice(0, context.pos - line.from))) return null;
  const place = placeOf(doc.toString(), format, context.pos, line.number, context.pos - line.from + 1);
  if (!place) return null;
  const inStep = format === "markdown";
  const wanted = toolNameAt(place, format);
  const called = toolAt(place, inStep);
  const typed = (word?.text ?? "").replace(/^"/, "");
  const tools = wanted ? await findTools(typed, wanted.server) : undefined;
  const takes = called === undefined ? undefined : await toolInputSchema(called);
  if (context.aborted) return null;
  const found = (inStep ? suggestInStep : suggest)(schema, place, { ...known, tools: merged(tools?.tools ?? [], known.tools), takes });
  if (found.length === 0) return null;
  const options = found.map((one) => option(one, isJson));
  // A truncated list may have other matches for what is typed next.
  return { from, options, validFor: tools?.cut ? undefined : /^"?[\w$.:@/-]*$/ };
}

export function placeOf(text: string, format: string, position: number, line: number, column: number): CursorPath | undefined {
  if (format === "dag" || format === "ir") return jsonPath(text, position);
  if (format === "yaml") return yamlPath(text.split("\n"), line, column);
  return format === "markdown" ? markdownPath(text.split("\n"), line, column) : undefined;
}

/** The available tools, and the unknown ones that the document calls. */
function merged(all: DocumentContext["tools"], own: DocumentContext["tools"]): DocumentContext["tools"] {
  const names = new Set(all.map((tool) => tool.name));
  return [...all, ...own.filter((tool) => !names.has(tool.name))];
}

function option({ text, kind, about, needed }: Suggestion, isJson: boolean): Completion {
  const written = isJson && !/^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? JSON.stringify(text) : text;
  const apply = kind === "key" ? `${written}: ` : written;
  return { label: isJson ? written : text, displayLabel: text, type: ICONS[kind], detail: needed ? "needed" : kind, info: about, apply, boost: needed ? 1 : 0 };
}
