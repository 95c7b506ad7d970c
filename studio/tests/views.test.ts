// Changed plans, SOP sessions, and the requests of the playground.
import { expect, test } from "vitest";
import type { SopSession } from "../src/api/types";
import { evaluationRequest, lineAt } from "../src/playground/evaluation-request";
import { planChange, isChange } from "../src/replan/plan-change";
import { todoRow, sessionOverlay } from "../src/sop/session-overlay";
import { edge, graph, node } from "./graphs";

const before = graph([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")]);

test("added, removed and changed nodes are distinguished, and removed ones are still drawn", () => {
  const after = graph([{ ...node("a"), tool: "s:other" }, node("c"), node("d")], [edge("a", "c"), edge("c", "d")]);
  const change = planChange(before, after);
  expect(change.marks).toEqual({ a: "changed", b: "removed", d: "added" });
  expect(change.graph.nodes.map((one) => one.id)).toEqual(["a", "c", "d", "b"]);
  expect(change.ways).toEqual({ added: ["a>c"], removed: ["a>b", "b>c"] });
  expect(new Set(change.graph.edges.map((one) => one.id)).size).toBe(4);
});

test("a plan that only moved in its document has not changed", () => {
  const after = graph(before.nodes.map((one) => ({ ...one, line: 9, layer: 2, patch: 1 })), before.edges.map((one, at) => ({ ...one, id: `x${at}` })));
  expect(isChange(planChange(before, after))).toBe(false);
});

test("a session has numbered moves, the current node and what was rejected", () => {
  const walk: SopSession = {
    procedure: before,
    here: "b",
    path: ["a", "b", "a", "b"].map((name, seq) => ({ node: name, seq, at_ms: seq })),
    todos: [],
    refused: [{ seq: 3, what: "move", target: "c", node: "b", message: "no edge leads there" }, { seq: 4, what: "call", target: "shop:pay", node: "a", message: "not here" }],
    calls: [],
    slots: {},
  };
  const { taken, marks, remarks } = sessionOverlay(walk);
  expect([...taken]).toEqual(["a>b", "b>a"]);
  expect(marks).toEqual({ a: "passed", b: "here", c: "refused" });
  expect(remarks).toEqual({ a: "visit 1, 3 · refused", b: "here · visit 2, 4", c: "refused" });
  expect(sessionOverlay({ ...walk, here: null, path: [], refused: [] })).toMatchObject({ marks: {}, remarks: {} });
});

test("tasks are read in any of their forms", () => {
  expect(todoRow({ content: "call back", status: "in_progress", note: "at nine" })).toEqual({ words: "call back", status: "in_progress", note: "at nine" });
  expect(todoRow("plain")).toEqual({ words: "plain", status: "pending" });
});

test("the playground asks only what can be asked", () => {
  const typed = { from: "json" as const, text: '{"a": 1}', run: "", seq: "" };
  expect(evaluationRequest("jsonata", "a + 1", typed)).toEqual({ language: "jsonata", expression: "a + 1", data: { a: 1 } });
  expect(evaluationRequest("jsonlogic", '{"var": "a"}', typed)).toEqual({ language: "jsonlogic", expression: { var: "a" }, data: { a: 1 } });
  expect(evaluationRequest("jsonlogic", "{", typed)).toHaveProperty("wrong");
  expect(evaluationRequest("jsonata", "a", { ...typed, text: "{" })).toHaveProperty("wrong");
  expect(evaluationRequest("jsonata", "a", { ...typed, from: "run" })).toEqual({ wrong: "choose a run" });
  expect(evaluationRequest("jsonata", "a", { ...typed, from: "run", run: "run_1", seq: "7" })).toEqual({ language: "jsonata", expression: "a", run_id: "run_1", seq: 7 });
  expect(lineAt("a\n𝒳b", 3)).toEqual({ line: 2, column: 2 });
});
