// The fields of a node as written in its text, and their schema. Used only by the side form:
// the server decides what the document means.
import { load } from "js-yaml";
import type { Edit, Json, Schema } from "../api/types";
import type { Extent } from "./node-extent";
import { members, schemaAt } from "./completions";

type Fields = { [name: string]: Json };

/** Paths to the lists of nodes, by format. */
const NODES: { [format: string]: string[][] } = {
  yaml: [["tools", "*", "nodes", "*"], ["nodes", "*"]],
  dag: [["tasks", "*"], ["plan", "*"], ["workflow", "tasks", "*"]],
  ir: [["nodes", "*"]],
  markdown: [["nodes", "*"]],
  sop: [],
};
/** Fields with their own control in the panel. */
const WITH_OWN_CONTROL = new Set(["id", "next", "depends_on"]);
/** Fields that a Markdown step writes as prose. */
const PROSE = new Set(["purpose", "description"]);
/** Legacy names, and fields that only matter in older files. */
const LEGACY = new Set(["onError", "dependsOn"]);

/** Formats whose graph can be edited. */
export function isEditable(format: string): boolean {
  return NODES[format] !== undefined;
}

/** The fields of the node in these lines; undefined if they cannot be parsed on their own. */
export function fieldsOf(text: string, lies: Extent, format: string): Fields | undefined {
  const lines = text.split("\n").slice(lies.from - 1, lies.to);
  if (format === "sop") return undefined;
  try {
    if (format === "markdown") return stepFields(lines);
    const read = format === "yaml" ? load(lines.join("\n")) : JSON.parse(withoutSeparators(lines.join("\n")));
    const found: unknown = Array.isArray(read) ? read[0] : read;
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Fields of a Markdown step itself; all others are parameters of its call. */
const OF_STEP = new Set(["type", "batch", "loop", "retry", "approval", "next", "on-error", "inputs", "idempotent", "readOnly", "join"]);

/** The parameters of a step in the form of an IR. Fenced blocks are only edited in the text. */
function stepFields(lines: string[]): Fields | undefined {
  const from = lines.findIndex((line) => line.startsWith("- "));
  const to = lines.findIndex((line, at) => at > from && /^\s*(```|~~~)/.test(line));
  const items: unknown = from < 0 ? [] : load(lines.slice(from, to < 0 ? undefined : to).join("\n"));
  if (!Array.isArray(items)) return undefined;
  const fields: Fields = {};
  const params: Fields = {};
  for (const [key, value] of items.flatMap((item) => Object.entries(item as Fields))) (OF_STEP.has(key) ? fields : params)[key] = value;
  return { ...fields, params };
}

/** An object of a JSON list without the text before and after it. */
function withoutSeparators(text: string): string {
  return text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
}

/** The schema of a node's fields, by its type. */
export function nodeSchema(root: Schema | undefined, format: string, fields: Fields): Schema | undefined {
  if (!root) return undefined;
  const beside = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, typeof value === "string" ? value : ""]));
  for (const path of NODES[format] ?? []) {
    const schema = schemaAt(root, { path });
    if (!schema) continue;
    const shown = (key: string) => !WITH_OWN_CONTROL.has(key) && !isLegacy(key, fields) && !(format === "markdown" && PROSE.has(key));
    const properties = Object.fromEntries(Object.entries(members(schema, beside)).filter(([key]) => shown(key)));
    return { type: "object", properties, definitions: root["definitions"] ?? {} };
  }
  return undefined;
}

function isLegacy(key: string, fields: Fields): boolean {
  if (fields[key] !== undefined) return false;
  return LEGACY.has(key) || (key === "tool" && fields["server"] === undefined && fields["type"] !== undefined && !String(fields["type"]).startsWith("mcp"));
}

/** The edits that turn the old fields into the new ones. */
export function fieldEdits(id: string, before: Fields, after: Fields, format: string): Edit[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...keys].filter((key) => !WITH_OWN_CONTROL.has(key) && JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  return changed.flatMap((key): Edit[] => {
    const [was, is] = [before[key], after[key]];
    // Each argument of a Markdown step has its own line.
    if (format === "markdown" && key === "params") return argumentEdits(id, isFields(was) ? was : {}, isFields(is) ? is : {});
    return [{ op: "set_field", id, path: [key], value: is ?? null }];
  });
}

const isFields = (given: Json | undefined): given is Fields => typeof given === "object" && given !== null && !Array.isArray(given);

function argumentEdits(id: string, before: Fields, after: Fields): Edit[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  return changed.map((key) => ({ op: "set_field", id, path: ["params", key], value: after[key] ?? null }));
}
