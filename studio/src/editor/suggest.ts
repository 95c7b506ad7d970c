// What could stand at a place of a document, by its JSON Schema, its nodes and the tools there are. Pure.
import type { Json, Schema } from "../api/types";
import { resolved } from "../form/schema";
import type { Place } from "./path";

export type Suggestion = { text: string; kind: "key" | "value" | "node" | "tool"; about?: string };
export type Known = { nodes: string[]; tools: { name: string; about?: string }[]; /** Workflows that can be called by name. */ workflows: { name: string; about?: string }[] };

/** Keys whose values name a node. */
const LEADS = new Set(["next", "on-error", "onError", "depends_on", "from", "to", "start_node", "entryNode", "exitNode"]);

const isObject = (given: Json | undefined): given is Schema => typeof given === "object" && given !== null && !Array.isArray(given);

/** The schema of the object around a place, with the part that its other keys decide. */
export function schemaAt(root: Schema, place: Place): Schema | undefined {
  let now: Schema | undefined = resolved(root, root);
  for (const part of place.path) {
    if (!now) return undefined;
    now = part === "*" ? listed(now, root) : member(now, part, root, {});
  }
  return now;
}

function listed(schema: Schema, root: Schema): Schema | undefined {
  return isObject(schema["items"]) ? opened(schema["items"], root) : undefined;
}

/** A schema without its references, but with what it says of cases. */
function opened(schema: Schema, root: Schema): Schema {
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

/** The members that an object may have, as its other members are. */
export function members(schema: Schema, beside: { [key: string]: string }): { [key: string]: Schema } {
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
    if (isObject(one["if"]) ? holds(one["if"], beside) : true) add(isObject(one["then"]) ? one["then"]["properties"] : one["properties"]);
  }
  for (const one of [...list(schema["anyOf"]), ...list(schema["oneOf"])]) add(one["properties"]);
  return all;
}

const list = (given: Json | undefined): Schema[] => (Array.isArray(given) ? given.filter(isObject) : []);

/** Whether the condition of a case holds for the members that are there. */
function holds(condition: Schema, beside: { [key: string]: string }): boolean {
  const properties = isObject(condition["properties"]) ? condition["properties"] : {};
  return Object.entries(properties).every(([key, value]) => {
    const has = beside[key];
    if (has === undefined || !isObject(value)) return false;
    if (Array.isArray(value["enum"])) return value["enum"].includes(has);
    return value["const"] === undefined || value["const"] === has;
  });
}

function member(schema: Schema, key: string, root: Schema, beside: { [key: string]: string }): Schema | undefined {
  const found = members(schema, beside)[key] ?? everyCase(schema)[key];
  if (found) return opened(found, root);
  const more = schema["additionalProperties"];
  return isObject(more) ? opened(more, root) : undefined;
}

/** Members of whatever case: on the way to a place what stands beside is not known. */
function everyCase(schema: Schema): { [key: string]: Schema } {
  const all: { [key: string]: Schema } = {};
  for (const one of list(schema["allOf"])) {
    const then = isObject(one["then"]) && isObject(one["then"]["properties"]) ? one["then"]["properties"] : {};
    for (const [key, value] of Object.entries(then)) if (isObject(value) && Object.keys(value).length && !all[key]) all[key] = value;
  }
  return all;
}

/** What could stand at the place: keys, or values of the key that is being filled in. */
export function suggest(root: Schema | undefined, place: Place, known: Known): Suggestion[] {
  const inList = place.path[place.path.length - 1] === "*" && place.key === undefined;
  const leads = place.key ?? (inList ? place.path[place.path.length - 2] : undefined);
  if (leads !== undefined && LEADS.has(leads)) return known.nodes.map((text) => ({ text, kind: "node" }));
  if (place.key === "tool") return tools(place, known);
  if (place.key === "workflow") return known.workflows.map(({ name, about }) => ({ text: name, kind: "tool", about }));
  const schema = root && schemaAt(root, place);
  if (!schema || !root) return [];
  if (place.key !== undefined) return values(member(schema, place.key, root, place.beside));
  const free = Object.entries(members(schema, place.beside)).filter(([key]) => place.beside[key] === undefined);
  return free.map(([text, value]) => ({ text, kind: "key", about: typeof value["description"] === "string" ? value["description"] : undefined }));
}

/** Tools by the server that stands beside, or with it where the format writes both in one. */
function tools(place: Place, known: Known): Suggestion[] {
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
