// Initial values of a form, hints about them, and which of them may be stored.
import type { Json, Schema } from "../api/types";
import { field, resolved, type Field } from "./schema";

/** Nested objects are pre-filled to this depth; a schema may be recursive. */
const DEPTH_MAX = 8;

type Members = { [name: string]: Json };

/** The initial value of a field: its default, or its required parts. */
export function initialValue(given: Schema, root: Schema, depth = 0): Json | undefined {
  const schema = resolved(given, root);
  if (schema["default"] !== undefined) return schema["default"];
  const asked = field(schema, root);
  if (asked.kind === "choice" && asked.options.length === 1) return asked.options[0];
  if (asked.kind === "list" && asked.least > 0 && depth < DEPTH_MAX) {
    return Array.from({ length: asked.least }, (_, index) => initialValue(asked.first[index] ?? asked.items, root, depth + 1) ?? emptyItem(asked.items, root));
  }
  if (asked.kind !== "object" || depth >= DEPTH_MAX) return undefined;
  const filled: Members = {};
  for (const { name, schema, required } of asked.members) {
    const value = required || hasDefault(schema, root) ? initialValue(schema, root, depth + 1) : undefined;
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

function hasDefault(schema: Schema, root: Schema): boolean {
  return resolved(schema, root)["default"] !== undefined;
}

/** The value of an empty list item: a list has no gaps. */
export function emptyItem(schema: Schema, root: Schema): Json {
  const begun = initialValue(schema, root);
  if (begun !== undefined) return begun;
  switch (field(schema, root).kind) {
    case "text":
      return "";
    case "list":
      return [];
    case "object":
      return {};
    case "flag":
      return false;
    case "number":
      return 0;
    case "choice":
    case "variant":
    case "json":
      return null;
  }
}

/** A hint about an invalid value. The server decides. */
export function hint(asked: Field, value: Json | undefined, required: boolean): string | undefined {
  if (value === undefined) return required ? "is required" : undefined;
  if (value === null) return asked.nullable || asked.kind === "json" ? undefined : "must not be null";
  if (asked.kind === "text") return typeof value === "string" ? hintText(asked, value) : "must be text";
  if (asked.kind === "number") return typeof value === "number" ? hintNumber(asked, value) : "must be a number";
  if (asked.kind === "list" && Array.isArray(value)) {
    if (value.length < asked.least) return `at least ${asked.least} items are required`;
    if (asked.most !== undefined && value.length > asked.most) return `at most ${asked.most} items are allowed`;
  }
  return undefined;
}

function hintText(asked: Field & { kind: "text" }, value: string): string | undefined {
  const letters = [...value].length;
  if (asked.shortest !== undefined && letters < asked.shortest) return `at least ${asked.shortest} characters are required`;
  if (asked.longest !== undefined && letters > asked.longest) return `at most ${asked.longest} characters are allowed`;
  try {
    if (asked.pattern && !new RegExp(asked.pattern, "u").test(value)) return `does not match ${asked.pattern}`;
  } catch {
    // The server checks a pattern that this browser cannot compile.
  }
  return undefined;
}

function hintNumber(asked: Field & { kind: "number" }, value: number): string | undefined {
  if (asked.whole && !Number.isInteger(value)) return "must be an integer";
  if (asked.least !== undefined && value < asked.least) return `at least ${asked.least}`;
  if (asked.most !== undefined && value > asked.most) return `at most ${asked.most}`;
  if (asked.above !== undefined && value <= asked.above) return `more than ${asked.above}`;
  if (asked.below !== undefined && value >= asked.below) return `less than ${asked.below}`;
  return undefined;
}

/** A value without the parts that its schema marks as secret. */
export function withoutSecrets(value: Json | undefined, given: Schema, root: Schema): Json | undefined {
  const asked = field(given, root);
  if (asked.secret || value === undefined) return undefined;
  if (asked.kind === "variant") {
    // Whatever is secret in any of the variants is not stored.
    return asked.options.reduce<Json | undefined>((now, option) => withoutSecrets(now, option.schema, root), value);
  }
  if (asked.kind === "list" && Array.isArray(value)) {
    return value.map((item, index) => withoutSecrets(item, asked.first[index] ?? asked.items, root) ?? null);
  }
  if (asked.kind !== "object" || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const kept: Members = {};
  for (const [name, inner] of Object.entries(value)) {
    const schema = asked.members.find((member) => member.name === name)?.schema ?? asked.more ?? {};
    const left = withoutSecrets(inner, schema, root);
    if (left !== undefined) kept[name] = left;
  }
  return kept;
}
