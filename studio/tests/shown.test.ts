// Plans that changed, walks along procedures, what the playground asks.
import { expect, test } from "vitest";
import type { Walk } from "../src/api/types";
import { asked, lineAt } from "../src/playground/asked";
import { changeOf, isChange } from "../src/replan/change";
import { todo, walked } from "../src/sop/walked";
import { edge, graph, node } from "./made";

const before = graph([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")]);

test("what is new, gone or otherwise is told apart, and what is gone is still drawn", () => {
  const after = graph([{ ...node("a"), tool: "s:other" }, node("c"), node("d")], [edge("a", "c"), edge("c", "d")]);
  const change = changeOf(before, after);
  expect(change.marks).toEqual({ a: "changed", b: "removed", d: "added" });
  expect(change.graph.nodes.map((one) => one.id)).toEqual(["a", "c", "d", "b"]);
  expect(change.ways).toEqual({ added: ["a>c"], removed: ["a>b", "b>c"] });
  expect(new Set(change.graph.edges.map((one) => one.id)).size).toBe(4);
});

test("a plan that only moved in its document has not changed", () => {
  const after = graph(before.nodes.map((one) => ({ ...one, line: 9, layer: 2, patch: 1 })), before.edges.map((one, at) => ({ ...one, id: `x${at}` })));
  expect(isChange(changeOf(before, after))).toBe(false);
});

test("a walk is numbered, says where it stands and what was refused", () => {
  const walk: Walk = {
    procedure: before,
    here: "b",
    path: ["a", "b", "a", "b"].map((name, seq) => ({ node: name, seq, at_ms: seq })),
    todos: [],
    refused: [{ seq: 3, what: "move", target: "c", node: "b", message: "no edge leads there" }, { seq: 4, what: "call", target: "shop:pay", node: "a", message: "not here" }],
    calls: [],
    slots: {},
  };
  const { taken, marks, remarks } = walked(walk);
  expect([...taken]).toEqual(["a>b", "b>a"]);
  expect(marks).toEqual({ a: "refused", b: "here", c: "refused" });
  expect(remarks).toEqual({ a: "visit 1, 3 · refused", b: "here · visit 2, 4", c: "refused" });
  expect(walked({ ...walk, here: null, path: [], refused: [] })).toMatchObject({ marks: {}, remarks: {} });
});

test("tasks are read however they were written", () => {
  expect(todo({ content: "call back", status: "in_progress", note: "at nine" })).toEqual({ words: "call back", status: "in_progress", note: "at nine" });
  expect(todo("plain")).toEqual({ words: "plain", status: "pending" });
});

test("the playground asks only what can be asked", () => {
  const typed = { from: "json" as const, text: '{"a": 1}', run: "", seq: "" };
  expect(asked("jsonata", "a + 1", typed)).toEqual({ language: "jsonata", expression: "a + 1", data: { a: 1 } });
  expect(asked("jsonlogic", '{"var": "a"}', typed)).toEqual({ language: "jsonlogic", expression: { var: "a" }, data: { a: 1 } });
  expect(asked("jsonlogic", "{", typed)).toHaveProperty("wrong");
  expect(asked("jsonata", "a", { ...typed, text: "{" })).toHaveProperty("wrong");
  expect(asked("jsonata", "a", { ...typed, from: "run" })).toEqual({ wrong: "choose a run" });
  expect(asked("jsonata", "a", { ...typed, from: "run", run: "run_1", seq: "7" })).toEqual({ language: "jsonata", expression: "a", run_id: "run_1", seq: 7 });
  expect(lineAt("a\n𝒳b", 3)).toEqual({ line: 2, column: 2 });
});
