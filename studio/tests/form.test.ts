// From a schema to a form: kinds of field, what it begins with, hints, what is kept and what is not.
import { expect, test } from "vitest";
import type { Json, Schema } from "../src/api/types";
import { remember, remembered } from "../src/form/remembered";
import { inside, placed, unplaced } from "../src/form/said";
import { field } from "../src/form/schema";
import { blank, discreet, empty, hint } from "../src/form/value";

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

test("what may be null is asked for as what else it may be", () => {
  expect(field({ type: ["string", "null"] }, {})).toMatchObject({ kind: "text", nullable: true });
  expect(field({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], description: "how many" }, {})).toMatchObject({ kind: "number", least: 1, nullable: true, about: "how many" });
});

test("references are followed, also where they lead in a circle", () => {
  const root: Schema = {
    $defs: { tree: { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/$defs/tree" } } }, round: { $ref: "#/$defs/round" } },
  };
  expect(field({ $ref: "#/$defs/tree", title: "A tree" }, root)).toMatchObject({ kind: "object", title: "A tree" });
  expect(kind({ $ref: "#/$defs/round" }, root)).toBe("json");
  expect(kind({ $ref: "#/$defs/none" }, root)).toBe("json");
  expect(blank({ $ref: "#/$defs/tree" }, root)).toEqual({});
});

test("parts of a schema come together", () => {
  const whole = field({ allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "number" } } }], required: ["b"] }, {});
  expect(whole).toMatchObject({ kind: "object", members: [{ name: "a", required: true }, { name: "b", required: true }] });
});

test("what is required and not described is still asked for", () => {
  expect(field({ type: "object", required: ["x"] }, {})).toMatchObject({ members: [{ name: "x", required: true }], more: {} });
});

test("a form begins with the defaults and what must be there", () => {
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
  expect(blank(schema, schema)).toEqual({ size: 3, where: { country: "DE" }, pair: [0, 0] });
  expect(empty({ type: "string" }, {})).toBe("");
});

test("hints tell what is odd and leave the rest to the server", () => {
  const text = field({ type: "string", minLength: 2, pattern: "^a" }, {});
  expect(hint(text, undefined, true)).toBe("is needed");
  expect(hint(text, undefined, false)).toBeUndefined();
  expect(hint(text, "a", true)).toBe("at least 2 letters are needed");
  expect(hint(text, "ba", true)).toBe("does not fit ^a");
  expect(hint(field({ type: "string", pattern: "(" }, {}), "x", true)).toBeUndefined();
  expect(hint(field({ type: "integer", exclusiveMinimum: 0 }, {}), 0, true)).toBe("more than 0");
  expect(hint(field({ type: "integer" }, {}), 1.5, true)).toBe("is to be a whole number");
  expect(hint(field({ type: "number" }, {}), "many", true)).toBe("is to be a number");
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

test("secrets are not kept, however deep they lie", () => {
  const given: Json = { user: "u", key: "k", all: [{ pin: "1", n: 2 }], way: { token: "t", x: 1 } };
  expect(discreet(given, secretive, secretive)).toEqual({ user: "u", all: [{ n: 2 }], way: { x: 1 } });
});

test("the last ten inputs are remembered, each once, the newest first", () => {
  const held = new Map<string, string>();
  const shelf = { getItem: (key: string) => held.get(key) ?? null, setItem: (key: string, text: string) => void held.set(key, text), removeItem: (key: string) => void held.delete(key) };
  for (let at = 0; at < 14; at++) remember("w", { user: `u${at}`, key: "hidden" }, secretive, at, shelf);
  remember("w", { user: "u9", key: "other" }, secretive, 99, shelf);
  const kept = remembered("w", shelf);
  expect(kept).toHaveLength(10);
  expect(kept[0]).toEqual({ at_ms: 99, input: { user: "u9" } });
  expect(kept.filter((one) => (one.input as { user: string }).user === "u9")).toHaveLength(1);
  expect([...held.values()].join()).not.toContain("hidden");
  expect(remembered("other", shelf)).toEqual([]);
});

test("what the server said is told at its field", () => {
  const said = placed('the input does not fit the schema of `w`: /weight: must be more than 0; it is -1; /a~1b/0: must be a string, not a number; `country` is missing');
  expect(said.fields).toEqual({ "/weight": "must be more than 0; it is -1", "/a~1b/0": "must be a string, not a number", "/country": "is needed" });
  expect(inside("/a", "b/c")).toBe("/a/b~1c");
  expect(unplaced(said, new Set(["/weight", "/country"]))).toEqual(["/a~1b/0: must be a string, not a number"]);
  expect(placed("there is no workflow `w`")).toEqual({ fields: {}, rest: ["there is no workflow `w`"] });
});
