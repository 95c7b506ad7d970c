// From a schema to a form: kinds of field, initial values, hints, and what is stored.
import { expect, test } from "vitest";
import type { Json, Schema } from "../src/api/types";
import { storeInput, storedInputs } from "../src/form/input-history";
import { memberPointer, parseErrors, errorsWithoutField } from "../src/form/server-errors";
import { field } from "../src/form/schema";
import { initialValue, withoutSecrets, emptyItem, hint } from "../src/form/value";

const kind = (schema: Schema, root: Schema = {}) => field(schema, root).kind;

test("every common kind of schema has its field", () => {
  expect(kind({ type: "string" })).toBe("text");
  expect(kind({ type: "integer" })).toBe("number");
  expect(kind({ type: "boolean" })).toBe("flag");
  expect(kind({ enum: ["a", 1, null] })).toBe("choice");
  expect(kind({ const: "a" })).toBe("choice");
  expect(kind({ oneOf: [{ const: "a" }, { const: "b" }] })).toBe("choice");
  expect(kind({ type: "array", items: { type: "string" } })).toBe("list");
  expect(kind({ properties: { a: {} } })).toBe("object");
  expect(kind({ oneOf: [{ type: "string" }, { type: "object" }] })).toBe("variant");
  expect(kind({ type: ["string", "number"] })).toBe("variant");
  expect(kind({})).toBe("json");
});

test("a nullable type gets the field of its other type", () => {
  expect(field({ type: ["string", "null"] }, {})).toMatchObject({ kind: "text", nullable: true });
  expect(field({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], description: "how many" }, {})).toMatchObject({ kind: "number", least: 1, nullable: true, about: "how many" });
});

test("references are followed, even in a cycle", () => {
  const root: Schema = {
    $defs: { tree: { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/$defs/tree" } } }, round: { $ref: "#/$defs/round" } },
  };
  expect(field({ $ref: "#/$defs/tree", title: "A tree" }, root)).toMatchObject({ kind: "object", title: "A tree" });
  expect(kind({ $ref: "#/$defs/round" }, root)).toBe("json");
  expect(kind({ $ref: "#/$defs/none" }, root)).toBe("json");
  expect(initialValue({ $ref: "#/$defs/tree" }, root)).toEqual({});
});

test("parts of a schema are merged", () => {
  const whole = field({ allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "number" } } }], required: ["b"] }, {});
  expect(whole).toMatchObject({ kind: "object", members: [{ name: "a", required: true }, { name: "b", required: true }] });
});

test("required members without a schema get a field", () => {
  expect(field({ type: "object", required: ["x"] }, {})).toMatchObject({ members: [{ name: "x", required: true }], more: {} });
});

test("a form starts with the defaults and the required members", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      size: { type: "integer", default: 3 },
      where: { type: "object", properties: { country: { const: "DE" }, city: { type: "string" } }, required: ["country"] },
      pair: { type: "array", items: { type: "number" }, minItems: 2 },
      other: { type: "object", properties: { a: { default: 1 } } },
    },
    required: ["name", "where", "pair"],
  };
  expect(initialValue(schema, schema)).toEqual({ size: 3, where: { country: "DE" }, pair: [0, 0] });
  expect(emptyItem({ type: "string" }, {})).toBe("");
});

test("hints report what is invalid and leave the rest to the server", () => {
  const text = field({ type: "string", minLength: 2, pattern: "^a" }, {});
  expect(hint(text, undefined, true)).toBe("is required");
  expect(hint(text, undefined, false)).toBeUndefined();
  expect(hint(text, "a", true)).toBe("at least 2 characters are required");
  expect(hint(text, "ba", true)).toBe("does not match ^a");
  expect(hint(field({ type: "string", pattern: "(" }, {}), "x", true)).toBeUndefined();
  expect(hint(field({ type: "integer", exclusiveMinimum: 0 }, {}), 0, true)).toBe("more than 0");
  expect(hint(field({ type: "integer" }, {}), 1.5, true)).toBe("must be an integer");
  expect(hint(field({ type: "number" }, {}), "many", true)).toBe("must be a number");
});

const secretive: Schema = {
  type: "object",
  properties: {
    user: { type: "string" },
    key: { type: "string", format: "password" },
    all: { type: "array", items: { type: "object", properties: { pin: { type: "string", writeOnly: true }, n: { type: "number" } } } },
    way: { oneOf: [{ type: "object", properties: { token: { type: "string", format: "password" } } }, { type: "string" }] },
  },
};

test("secrets are not stored, however deeply nested", () => {
  const given: Json = { user: "u", key: "k", all: [{ pin: "1", n: 2 }], way: { token: "t", x: 1 } };
  expect(withoutSecrets(given, secretive, secretive)).toEqual({ user: "u", all: [{ n: 2 }], way: { x: 1 } });
});

test("the last ten inputs are remembered, each once, the newest first", () => {
  const held = new Map<string, string>();
  const shelf = { getItem: (key: string) => held.get(key) ?? null, setItem: (key: string, text: string) => void held.set(key, text), removeItem: (key: string) => void held.delete(key) };
  for (let at = 0; at < 14; at++) storeInput("w", { user: `u${at}`, key: "hidden" }, secretive, at, shelf);
  storeInput("w", { user: "u9", key: "other" }, secretive, 99, shelf);
  const kept = storedInputs("w", shelf);
  expect(kept).toHaveLength(10);
  expect(kept[0]).toEqual({ at_ms: 99, input: { user: "u9" } });
  expect(kept.filter((one) => (one.input as { user: string }).user === "u9")).toHaveLength(1);
  expect([...held.values()].join()).not.toContain("hidden");
  expect(storedInputs("other", shelf)).toEqual([]);
});

test("a server message is shown at its field", () => {
  const said = parseErrors('the input does not fit the schema of `w`: /weight: must be more than 0; it is -1; /a~1b/0: must be a string, not a number; `country` is missing');
  expect(said.fields).toEqual({ "/weight": "must be more than 0; it is -1", "/a~1b/0": "must be a string, not a number", "/country": "is required" });
  expect(memberPointer("/a", "b/c")).toBe("/a/b~1c");
  expect(errorsWithoutField(said, new Set(["/weight", "/country"]))).toEqual(["/a~1b/0: must be a string, not a number"]);
  expect(parseErrors("there is no workflow `w`")).toEqual({ fields: {}, rest: ["there is no workflow `w`"] });
});
