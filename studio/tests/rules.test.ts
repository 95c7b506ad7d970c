// Rules as rows and in words, and what a word of the text means.
import { expect, test } from "vitest";
import { wordAt } from "../src/editor/hover-docs";
import { freeName } from "../src/editor/new-node";
import { ruleForm, ruleOf, ruleWords, shownValue, typedValue } from "../src/editor/rules";
import type { Json } from "../src/api/types";
import { graph, node } from "./graphs";

const RULES: [Json, string][] = [
  [{ ">": [{ var: "both.total" }, 100] }, "both.total is more than 100"],
  [{ and: [{ "==": [{ var: "a" }, "x"] }, { "!": [{ var: "b.c" }] }] }, "a is “x” and b.c is not set"],
  [{ or: [{ in: [{ var: "a" }, ["x", 2]] }, { "<=": [{ var: "b" }, { var: "c.d" }] }] }, "a is one of “x”, 2 or b is at most c.d"],
];

test.each(RULES)("a rule becomes rows and the same rule again: %j", (rule, words) => {
  const form = ruleForm(rule)!;
  expect(ruleOf(form)).toEqual(rule);
  expect(ruleWords(rule)).toBe(words);
});

test("a rule that says more stays a text", () => {
  for (const rule of [{ "+": [1, 2] }, { "==": [{ "+": [{ var: "a" }, 1] }, 2] }, { and: [{ or: [{ "!!": [{ var: "a" }] }] }] }, { ">": [{ var: "a" }, 1], "<": [{ var: "a" }, 2] }, "a > 1", { "==": [{ var: ["a", 1] }, 2] }, true] as Json[]) {
    expect(ruleForm(rule)).toBeUndefined();
  }
  expect(ruleWords("a > 1")).toBe("a > 1");
  expect(ruleWords({ "+": [1, 2] })).toBe('{"+":[1,2]}');
});

test("a value is read as it is shown", () => {
  for (const value of [1, "x", "1", true, "true", null, "a b", { var: "n.f" }, "{n.f}", ""] as Json[]) expect(typedValue(shownValue(value), "==")).toEqual(value);
  for (const value of [["a", 1], ["1", "b"], []] as Json[]) expect(typedValue(shownValue(value), "in")).toEqual((value as Json[]).length === 0 ? [""] : value);
});

test("the word under the mouse has no colon", () => {
  expect(wordAt("  - id: look", 5)).toEqual({ word: "id", from: 4, to: 6 });
  expect(wordAt("server:tool", 3)).toEqual({ word: "server:tool", from: 0, to: 11 });
  expect(wordAt("a  b", 2)).toBeUndefined();
});

test("a new node gets a name that is free", () => {
  const made = graph([node("call"), node("call_2")], []);
  expect(freeName(made, "call")).toBe("call_3");
  expect(freeName(made, "wait")).toBe("wait");
});
