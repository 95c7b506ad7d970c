// Completions for a position in a document, from its JSON Schema, its nodes, the available tools and their arguments. Pure.
import type { Json, Schema } from "../api/types";
import { resolved } from "../form/schema";
import type { Members, CursorPath } from "./cursor-path";

export type Suggestion = { text: string; kind: "key" | "value" | "node" | "tool"; about?: string; /** Whether it is required. */ needed?: boolean };
type NamedItem = { name: string; about?: string };
export type DocumentContext = {
  nodes: string[];
  tools: NamedItem[];
  /** Workflows that can be called by name. */
  workflows: NamedItem[];
  /** The input schema of the tool whose arguments are being typed. */
  takes?: Schema;
};

/** Keys whose values are node ids. */
const NODE_KEYS = new Set(["next", "on-error", "onError", "depends_on", "from", "to", "start_node", "entryNode", "exitNode"]);

/** Keys whose values are the arguments of a call. */
const ARGUMENTS = new Set(["args", "arguments", "params"]);

/** Fields that a Markdown step writes as heading and prose. */
const IN_HEADINGS = new Set(["id", "purpose", "params"]);

const isObject = (given: Json | undefined): given is Schema => typeof given === "object" && given !== null && !Array.isArray(given);

/** The path inside the arguments of a call, and the members next to them. */
function argumentPath(place: CursorPath): { inside: string[]; node: Members } | undefined {
  const at = place.path.findIndex((part) => ARGUMENTS.has(part));
  return at < 0 ? undefined : { inside: place.path.slice(at + 1), node: place.around[at] ?? {} };
}

/** The tool whose arguments are being typed, by its name in the registry. */
export function toolAt(place: CursorPath, inStep = false): string | undefined {
  const { server, tool, workflow, type } = argumentPath(place)?.node ?? (inStep ? place.beside : {});
  if (workflow) return `workflow:${workflow}`;
  if (tool) return server ? `${server}:${tool}` : tool;
  return type || undefined;
}

/** Whether a tool name is being typed, and of which server. */
export function toolNameAt(place: CursorPath, format: string): { server?: string } | undefined {
  const named = place.key === "tool" || (place.key === "type" && (format === "ir" || format === "markdown") && place.path[place.path.length - 2] === "nodes");
  return named && !argumentPath(place) ? { server: place.beside["server"] } : undefined;
}

/** The schema of the object around a position, with the cases that its other keys select. */
export function schemaAt(root: Schema, place: Pick<CursorPath, "path">): Schema | undefined {
  let now: Schema | undefined = resolved(root, root);
  for (const part of place.path) {
    if (!now) return undefined;
    now = part === "*" ? listed(now, root) : member(now, part, root, {});
  }
  return now;
}

function listed(schema: Schema, root: Schema): Schema | undefined {
  return isObject(schema["items"]) ? withoutReferences(schema["items"], root) : undefined;
}

/** A schema without references, but with its conditional parts. */
function withoutReferences(schema: Schema, root: Schema): Schema {
  const { $ref: reference } = schema;
  if (typeof reference !== "string") return schema;
  const { allOf: _, ...target } = resolved(schema, root);
  const cases = resolvedCases(schema, root);
  return cases.length ? { ...target, allOf: cases } : target;
}

function resolvedCases(schema: Schema, root: Schema): Schema[] {
  const reference = String(schema["$ref"]).replace(/^#\//, "").split("/");
  let now: Json | undefined = root;
  for (const part of reference) now = isObject(now) ? now[part] : undefined;
  return isObject(now) && Array.isArray(now["allOf"]) ? now["allOf"].filter(isObject) : [];
}

/** The possible members of an object, given its other members. */
export function members(schema: Schema, beside: Members): { [key: string]: Schema } {
  const all: { [key: string]: Schema } = {};
  const add = (given: Json | undefined) => {
    if (!isObject(given)) return;
    for (const [key, value] of Object.entries(given)) {
      const known = all[key] ?? {};
      all[key] = isObject(value) && Object.keys(value).length ? { ...known, ...value } : known;
    }
  };
  add(schema["properties"]);
  for (const one of Array.isArray(schema["allOf"]) ? schema["allOf"] : []) {
    if (!isObject(one)) continue;
    if (isObject(one["if"]) ? isCaseTrue(one["if"], beside) : true) add(isObject(one["then"]) ? one["then"]["properties"] : one["properties"]);
  }
  for (const one of [...list(schema["anyOf"]), ...list(schema["oneOf"])]) add(one["properties"]);
  return all;
}

const list = (given: Json | undefined): Schema[] => (Array.isArray(given) ? given.filter(isObject) : []);

/** Whether the condition of a case is true for the existing members. */
function isCaseTrue(condition: Schema, beside: Members): boolean {
  const properties = isObject(condition["properties"]) ? condition["properties"] : {};
  return Object.entries(properties).every(([key, value]) => {
    const has = beside[key];
    if (has === undefined || !isObject(value)) return false;
    if (Array.isArray(value["enum"])) return value["enum"].includes(has);
    return value["const"] === undefined || value["const"] === has;
  });
}

function member(schema: Schema, key: string, root: Schema, beside: Members): Schema | undefined {
  const found = members(schema, beside)[key] ?? everyCase(schema)[key];
  if (found) return withoutReferences(found, root);
  const more = schema["additionalProperties"];
  return isObject(more) ? withoutReferences(more, root) : undefined;
}

/** Members of any case: on the path to a position the other members are unknown. */
function everyCase(schema: Schema): { [key: string]: Schema } {
  const all: { [key: string]: Schema } = {};
  for (const one of list(schema["allOf"])) {
    const then = isObject(one["then"]) && isObject(one["then"]["properties"]) ? one["then"]["properties"] : {};
    for (const [key, value] of Object.entries(then)) if (isObject(value) && Object.keys(value).length && !all[key]) all[key] = value;
  }
  return all;
}

/** Completions for a Markdown step, where arguments are mixed with the step's own fields. */
export function suggestInStep(root: Schema | undefined, place: CursorPath, known: DocumentContext): Suggestion[] {
  const own = suggest(root, place, known).filter(({ kind, text }) => kind !== "key" || !IN_HEADINGS.has(text));
  if (!known.takes) return own;
  const given = bySchema(known.takes, { ...place, path: [] });
  return place.key === undefined ? [...given, ...own] : own.length ? own : given;
}

/** Completions for the position: keys, or values of the current key. */
export function suggest(root: Schema | undefined, place: CursorPath, known: DocumentContext): Suggestion[] {
  const call = argumentPath(place);
  if (call) return known.takes ? bySchema(known.takes, { ...place, path: call.inside }) : [];
  const inList = place.path[place.path.length - 1] === "*" && place.key === undefined;
  const leads = place.key ?? (inList ? place.path[place.path.length - 2] : undefined);
  if (leads !== undefined && NODE_KEYS.has(leads)) return known.nodes.map((text) => ({ text, kind: "node" }));
  if (place.key === "tool") return tools(place, known);
  if (place.key === "workflow") return known.workflows.map(({ name, about }) => ({ text: name, kind: "tool", about }));
  const found = root ? bySchema(root, place) : [];
  return place.key === "type" ? [...found, ...tools(place, known)] : found;
}

function bySchema(root: Schema, place: CursorPath): Suggestion[] {
  const schema = schemaAt(root, place);
  if (!schema) return [];
  if (place.key !== undefined) return values(member(schema, place.key, root, place.beside));
  const needed = Array.isArray(schema["required"]) ? schema["required"] : [];
  const free = Object.entries(members(schema, place.beside)).filter(([key]) => place.beside[key] === undefined);
  const offered = free.map(([text, value]) => ({ text, kind: "key" as const, about: describeField(value), needed: needed.includes(text) }));
  return offered.sort((a, b) => Number(b.needed) - Number(a.needed));
}

/** The description of a field and its type. */
function describeField(schema: Schema): string | undefined {
  const { type, description } = schema;
  const said = [typeof type === "string" ? type : undefined, typeof description === "string" ? description : undefined];
  return said.filter((part) => part !== undefined).join(": ") || undefined;
}

/** Tools of the server in the same object, or with the server's name if the format writes both in one. */
function tools(place: CursorPath, known: DocumentContext): Suggestion[] {
  const server = place.beside["server"];
  const named = known.tools.map(({ name, about }) => ({ text: name, kind: "tool" as const, about }));
  if (server === undefined) return named;
  return named.filter(({ text }) => text.startsWith(`${server}:`)).map((one) => ({ ...one, text: one.text.slice(server.length + 1) }));
}

function values(schema: Schema | undefined): Suggestion[] {
  if (!schema) return [];
  const all: Json[] = Array.isArray(schema["enum"]) ? schema["enum"] : schema["const"] !== undefined ? [schema["const"]] : [];
  if (schema["type"] === "boolean") all.push(true, false);
  return all.map((value) => ({ text: String(value), kind: "value" }));
}
