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
  dag: [["tasks", "*"], ["workflow", "tasks", "*"]],
  ir: [["nodes", "*"]],
};
/** What has a place of its own in the panel. */
const ELSEWHERE = new Set(["id", "next", "depends_on"]);
/** Older names, and what only means something in older files. */
const OLD = new Set(["onError", "dependsOn"]);

/** Formats whose graph can be changed by hand. */
export function isEditable(format: string): boolean {
  return NODES[format] !== undefined;
}

/** The fields of the node that stands in these lines; nothing where they cannot be read by themselves. */
export function fieldsOf(text: string, lies: Extent, format: string): Fields | undefined {
  const lines = text.split("\n").slice(lies.from - 1, lies.to);
  try {
    const read = format === "yaml" ? load(lines.join("\n")) : JSON.parse(bare(lines.join("\n")));
    const found: unknown = Array.isArray(read) ? read[0] : read;
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Fields) : undefined;
  } catch {
    return undefined;
  }
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
    const schema = schemaAt(root, { path, beside });
    if (!schema) continue;
    const properties = Object.fromEntries(Object.entries(members(schema, beside)).filter(([key]) => !ELSEWHERE.has(key) && !isOld(key, fields)));
    return { type: "object", properties, definitions: root["definitions"] ?? {} };
  }
  return undefined;
}

function isOld(key: string, fields: Fields): boolean {
  if (fields[key] !== undefined) return false;
  return OLD.has(key) || (key === "tool" && fields["server"] === undefined && fields["type"] !== undefined && !String(fields["type"]).startsWith("mcp"));
}

/** The edits that lead from the fields as they were to those as they are to be. */
export function fieldEdits(id: string, before: Fields, after: Fields): Edit[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...keys].filter((key) => !ELSEWHERE.has(key) && JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  return changed.map((key) => ({ op: "set_field", id, path: [key], value: after[key] ?? null }));
}
