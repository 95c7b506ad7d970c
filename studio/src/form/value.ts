// Values that a form begins with, what may be said about them at once, and what of them may be kept.
import type { Json, Schema } from "../api/types";
import { field, resolved, type Field } from "./schema";

/** Objects inside objects begin filled in so deep; a schema may hold itself. */
const DEPTH_MAX = 8;

type Members = { [name: string]: Json };

/** What a field holds before anybody typed: its default, or as much as must be there. */
export function blank(given: Schema, root: Schema, depth = 0): Json | undefined {
  const schema = resolved(given, root);
  if (schema["default"] !== undefined) return schema["default"];
  const asked = field(schema, root);
  if (asked.kind === "choice" && asked.options.length === 1) return asked.options[0];
  if (asked.kind === "list" && asked.least > 0 && depth < DEPTH_MAX) {
    return Array.from({ length: asked.least }, (_, index) => blank(asked.first[index] ?? asked.items, root, depth + 1) ?? empty(asked.items, root));
  }
  if (asked.kind !== "object" || depth >= DEPTH_MAX) return undefined;
  const filled: Members = {};
  for (const { name, schema, required } of asked.members) {
    const value = required || hasDefault(schema, root) ? blank(schema, root, depth + 1) : undefined;
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

function hasDefault(schema: Schema, root: Schema): boolean {
  return resolved(schema, root)["default"] !== undefined;
}

/** What stands in a list where nothing was typed yet: a list has no gaps. */
export function empty(schema: Schema, root: Schema): Json {
  const begun = blank(schema, root);
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

/** What is odd about a value, as far as that can be told at once. The server decides. */
export function hint(asked: Field, value: Json | undefined, required: boolean): string | undefined {
  if (value === undefined) return required ? "is needed" : undefined;
  if (value === null) return asked.nullable || asked.kind === "json" ? undefined : "may not be null";
  if (asked.kind === "text") return typeof value === "string" ? hintText(asked, value) : "is to be a text";
  if (asked.kind === "number") return typeof value === "number" ? hintNumber(asked, value) : "is to be a number";
  if (asked.kind === "list" && Array.isArray(value)) {
    if (value.length < asked.least) return `at least ${asked.least} are needed`;
    if (asked.most !== undefined && value.length > asked.most) return `at most ${asked.most} are taken`;
  }
  return undefined;
}

function hintText(asked: Field & { kind: "text" }, value: string): string | undefined {
  const letters = [...value].length;
  if (asked.shortest !== undefined && letters < asked.shortest) return `at least ${asked.shortest} letters are needed`;
  if (asked.longest !== undefined && letters > asked.longest) return `at most ${asked.longest} letters are taken`;
  try {
    if (asked.pattern && !new RegExp(asked.pattern, "u").test(value)) return `does not fit ${asked.pattern}`;
  } catch {
    // A pattern that this browser cannot read is the server's to judge.
  }
  return undefined;
}

function hintNumber(asked: Field & { kind: "number" }, value: number): string | undefined {
  if (asked.whole && !Number.isInteger(value)) return "is to be a whole number";
  if (asked.least !== undefined && value < asked.least) return `at least ${asked.least}`;
  if (asked.most !== undefined && value > asked.most) return `at most ${asked.most}`;
  if (asked.above !== undefined && value <= asked.above) return `more than ${asked.above}`;
  if (asked.below !== undefined && value >= asked.below) return `less than ${asked.below}`;
  return undefined;
}

/** A value without what its schema marks as secret. */
export function discreet(value: Json | undefined, given: Schema, root: Schema): Json | undefined {
  const asked = field(given, root);
  if (asked.secret || value === undefined) return undefined;
  if (asked.kind === "variant") {
    // Whichever form it has: what is secret in one of them is not kept.
    return asked.options.reduce<Json | undefined>((now, option) => discreet(now, option.schema, root), value);
  }
  if (asked.kind === "list" && Array.isArray(value)) {
    return value.map((item, index) => discreet(item, asked.first[index] ?? asked.items, root) ?? null);
  }
  if (asked.kind !== "object" || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const kept: Members = {};
  for (const [name, inner] of Object.entries(value)) {
    const schema = asked.members.find((member) => member.name === name)?.schema ?? asked.more ?? {};
    const left = discreet(inner, schema, root);
    if (left !== undefined) kept[name] = left;
  }
  return kept;
}
