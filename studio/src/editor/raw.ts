// The fields of a node as its text has them, and the schema that they follow. For the side form alone:
// what the document means is for the server to say.
import { load } from "js-yaml";
import type { Edit, Json, Schema } from "../api/types";
import type { Extent } from "./extent";
import { members, schemaAt } from "./suggest";

type Fields = { [name: string]: Json };

/** Paths to the lists of nodes, by format. */
const NODES: { [format: string]: string[][] } = {
  yaml: [["tools", "*", "nodes", "*"], ["nodes", "*"]],
  dag: [["tasks", "*"], ["plan", "*"], ["workflow", "tasks", "*"]],
  ir: [["nodes", "*"]],
  markdown: [["nodes", "*"]],
  sop: [],
};
/** What has a place of its own in the panel. */
const ELSEWHERE = new Set(["id", "next", "depends_on"]);
/** What a step written as Markdown says in its prose. */
const PROSE = new Set(["purpose", "description"]);
/** Older names, and what only means something in older files. */
const OLD = new Set(["onError", "dependsOn"]);

/** Formats whose graph can be changed by hand. */
export function isEditable(format: string): boolean {
  return NODES[format] !== undefined;
}

/** The fields of the node that stands in these lines; nothing where they cannot be read by themselves. */
export function fieldsOf(text: string, lies: Extent, format: string): Fields | undefined {
  const lines = text.split("\n").slice(lies.from - 1, lies.to);
  if (format === "sop") return undefined;
  try {
    if (format === "markdown") return stepFields(lines);
    const read = format === "yaml" ? load(lines.join("\n")) : JSON.parse(bare(lines.join("\n")));
    const found: unknown = Array.isArray(read) ? read[0] : read;
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** What a step written as Markdown says of itself; what else it says goes to what it calls. */
const OF_STEP = new Set(["type", "batch", "loop", "retry", "approval", "next", "on-error", "inputs", "idempotent", "readOnly", "join"]);

/** The parameters of a step in the shape of an IR. What stands in fenced blocks stays in the text. */
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

/** An object of a JSON list without what stands before and after it. */
function bare(text: string): string {
  return text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
}

/** The schema of a node's fields, as its type has them. */
export function nodeSchema(root: Schema | undefined, format: string, fields: Fields): Schema | undefined {
  if (!root) return undefined;
  const beside = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, typeof value === "string" ? value : ""]));
  for (const path of NODES[format] ?? []) {
    const schema = schemaAt(root, { path });
    if (!schema) continue;
    const shown = (key: string) => !ELSEWHERE.has(key) && !isOld(key, fields) && !(format === "markdown" && PROSE.has(key));
    const properties = Object.fromEntries(Object.entries(members(schema, beside)).filter(([key]) => shown(key)));
    return { type: "object", properties, definitions: root["definitions"] ?? {} };
  }
  return undefined;
}

function isOld(key: string, fields: Fields): boolean {
  if (fields[key] !== undefined) return false;
  return OLD.has(key) || (key === "tool" && fields["server"] === undefined && fields["type"] !== undefined && !String(fields["type"]).startsWith("mcp"));
}

/** The edits that lead from the fields as they were to those as they are to be. */
export function fieldEdits(id: string, before: Fields, after: Fields, format: string): Edit[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...keys].filter((key) => !ELSEWHERE.has(key) && JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  return changed.flatMap((key): Edit[] => {
    const [was, is] = [before[key], after[key]];
    // Each argument of a step written as Markdown has a line of its own.
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
