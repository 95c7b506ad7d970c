// Turns a JSON Schema into the kinds of field that a form has. Pure: nothing is rendered here,
// and validation here is only a hint, the server decides.
import type { Json, Schema } from "../api/types";

export type Member = { name: string; schema: Schema; required: boolean };
export type Variant = { label: string; schema: Schema };

type Common = { title?: string; about?: string; secret: boolean; nullable: boolean };
export type Field = Common &
  (
    | { kind: "object"; members: Member[]; more?: Schema }
    | { kind: "list"; items: Schema; first: Schema[]; least: number; most?: number }
    | { kind: "choice"; options: Json[] }
    | { kind: "text"; format?: string; long: boolean; shortest?: number; longest?: number; pattern?: string; examples: string[] }
    | { kind: "number"; whole: boolean; least?: number; most?: number; above?: number; below?: number }
    | { kind: "flag" }
    | { kind: "variant"; options: Variant[] }
    | { kind: "json" }
  );

/** The maximum number of references followed in a row. */
const REFERENCES_MAX = 16;
/** Text that may be longer than this gets several lines. */
const LINE_MAX = 200;

const isSchema = (given: Json | undefined): given is Schema => typeof given === "object" && given !== null && !Array.isArray(given);
const schemas = (given: Json | undefined): Schema[] => (Array.isArray(given) ? given.filter(isSchema) : []);
const texts = (given: Json | undefined): string[] => (Array.isArray(given) ? given.filter((one) => typeof one === "string") : []);
const number = (given: Json | undefined) => (typeof given === "number" ? given : undefined);
const text = (given: Json | undefined) => (typeof given === "string" ? given : undefined);

/** The schema that a reference points to, merged with the keywords next to the reference. */
export function resolved(schema: Schema, root: Schema): Schema {
  let now = schema;
  for (let turn = 0; turn < REFERENCES_MAX; turn++) {
    const reference = text(now["$ref"]);
    if (!reference?.startsWith("#")) break;
    const { $ref: _, ...beside } = now;
    const found = valueAt(root, reference.slice(1));
    if (!isSchema(found)) return beside;
    now = { ...found, ...beside };
  }
  return schemas(now["allOf"]).length ? merged(now, root) : now;
}

/** The value at a JSON pointer. */
export function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  let now = value;
  for (const part of pointer.split("/").slice(1)) {
    if (typeof now !== "object" || now === null) return undefined;
    const key = decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~");
    now = (now as { [key: string]: Json })[key];
  }
  return now;
}

/** All parts of an `allOf` as one schema: sufficient for a form. */
function merged(schema: Schema, root: Schema): Schema {
  const { allOf, ...own } = schema;
  const parts = [...schemas(allOf).map((part) => resolved(part, root)), own];
  const whole: Schema = {};
  for (const part of parts) {
    const properties = { ...((whole["properties"] as Schema) ?? {}), ...((part["properties"] as Schema) ?? {}) };
    const required = [...new Set([...texts(whole["required"]), ...texts(part["required"])])];
    Object.assign(whole, part);
    if (Object.keys(properties).length) whole["properties"] = properties;
    if (required.length) whole["required"] = required;
  }
  return whole;
}

/** The kind of field for a schema. */
export function field(given: Schema, root: Schema): Field {
  const schema = resolved(given, root);
  const types = Array.isArray(schema["type"]) ? texts(schema["type"]) : texts([schema["type"] ?? ""]).filter(Boolean);
  const branches = [...schemas(schema["oneOf"]), ...schemas(schema["anyOf"])].map((branch) => resolved(branch, root));
  const real = branches.filter((branch) => branch["type"] !== "null");
  const nullable = types.includes("null") || real.length < branches.length;
  const common: Common = {
    title: text(schema["title"]),
    about: text(schema["description"]),
    secret: isSecret(schema),
    nullable,
  };
  const options = choices(schema, real);
  if (options) return { ...common, kind: "choice", options, nullable: nullable || options.includes(null) };
  const shaped = !!schema["properties"] || types.length > 0;
  if (real.length === 1 && !shaped) return { ...field({ ...real[0], ...descriptionOf(schema) }, root), nullable };
  const alternatives = real.filter((branch) => branch["type"] || branch["properties"] || branch["enum"] || branch["const"] !== undefined);
  if (alternatives.length > 1 && !schema["properties"]) {
    return { ...common, kind: "variant", options: alternatives.map((branch, index) => ({ label: label(branch, index), schema: branch })) };
  }
  const kinds = types.filter((type) => type !== "null");
  if (kinds.length > 1) return { ...common, kind: "variant", options: kinds.map((type) => ({ label: type, schema: { ...schema, type } })) };
  return { ...common, ...plain(kinds[0] ?? inferredType(schema), schema) } as Field;
}

/** The title and description of a schema, kept when another schema replaces it. */
function descriptionOf(schema: Schema): Schema {
  const kept: Schema = {};
  for (const key of ["title", "description", "default"]) if (schema[key] !== undefined) kept[key] = schema[key];
  return kept;
}

function label(branch: Schema, index: number): string {
  return text(branch["title"]) ?? (branch["const"] !== undefined ? JSON.stringify(branch["const"]) : (text(branch["type"]) ?? `variant ${index + 1}`));
}

function inferredType(schema: Schema): string | undefined {
  if (schema["properties"] || schema["additionalProperties"]) return "object";
  if (schema["items"] || schema["prefixItems"]) return "array";
  return undefined;
}

/** The values to choose from, if a schema lists them. */
function choices(schema: Schema, branches: Schema[]): Json[] | undefined {
  if (schema["const"] !== undefined) return [schema["const"]];
  if (Array.isArray(schema["enum"])) return schema["enum"];
  const consts = branches.map((branch) => branch["const"]);
  return branches.length > 1 && consts.every((one) => one !== undefined) ? (consts as Json[]) : undefined;
}

function plain(type: string | undefined, schema: Schema): object {
  switch (type) {
    case "object":
      return { kind: "object", members: members(schema), more: additionalMember(schema) };
    case "array":
      return {
        kind: "list",
        items: isSchema(schema["items"]) ? schema["items"] : {},
        first: schemas(schema["prefixItems"]),
        least: number(schema["minItems"]) ?? 0,
        most: number(schema["maxItems"]),
      };
    case "string":
      return {
        kind: "text",
        format: text(schema["format"]),
        long: (number(schema["maxLength"]) ?? 0) > LINE_MAX || schema["contentMediaType"] !== undefined || text(schema["default"])?.includes("\n") === true,
        shortest: number(schema["minLength"]),
        longest: number(schema["maxLength"]),
        pattern: text(schema["pattern"]),
        examples: texts(schema["examples"]),
      };
    case "number":
    case "integer":
      return {
        kind: "number",
        whole: type === "integer",
        least: number(schema["minimum"]),
        most: number(schema["maximum"]),
        above: number(schema["exclusiveMinimum"]),
        below: number(schema["exclusiveMaximum"]),
      };
    case "boolean":
      return { kind: "flag" };
    default:
      return { kind: "json" };
  }
}

function members(schema: Schema): Member[] {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(texts(schema["required"]));
  const named = Object.entries(properties).map(([name, given]) => ({ name, schema: isSchema(given) ? given : {}, required: required.delete(name) }));
  // Required members without a schema get a field too.
  return [...named, ...[...required].map((name) => ({ name, schema: {}, required: true }))];
}

/** The schema of additional members, if they are allowed. */
function additionalMember(schema: Schema): Schema | undefined {
  const more = schema["additionalProperties"];
  if (isSchema(more)) return more;
  const empty = !isSchema(schema["properties"]) || Object.keys(schema["properties"]).length === 0;
  return more === true || (more === undefined && empty) ? {} : undefined;
}

function isSecret(schema: Schema): boolean {
  return schema["format"] === "password" || schema["writeOnly"] === true;
}
