// Text and graph stay in sync: lines of nodes, positions of flaws, patches, diffs.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Flaw } from "../src/api/types";
import { hunks, lineDiff } from "../src/editor/diff";
import { extent, nodeAt } from "../src/editor/node-extent";
import { countByNode, toCodeUnits, flawRange, type Lines } from "../src/editor/flaws";
import { promptOf, newNode, kindsOf } from "../src/editor/new-node";
import { parseFreeValue, formatFreeValue } from "../src/editor/free-field";
import { fieldEdits, fieldsOf, nodeSchema } from "../src/editor/node-fields";
import { edge, graph, node } from "./graphs";

const yaml = readFileSync(new URL("../../examples/graphs/switch.yaml", import.meta.url), "utf8").split("\n");
const line = (text: string) => yaml.findIndex((one) => one.includes(text)) + 1;

function lines(text: string): Lines {
  const all = text.split("\n");
  const from = (number: number) => all.slice(0, number - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return { length: text.length, lines: all.length, line: (number) => ({ from: from(number), to: from(number) + all[number - 1]!.length, text: all[number - 1]! }) };
}

test("a node has its lines and no more", () => {
  expect(extent(yaml, line("- id: choose"), 9)).toEqual({ from: line("- id: choose"), to: line("next: parcel") });
  expect(extent(yaml, line("- id: exit"), 9)).toEqual({ from: line("- id: exit"), to: line("- id: exit") + 1 });
});

test("a comment before the next node belongs to that node", () => {
  const text = ["nodes:", "  - id: a", "    next: b", "", "  # about b", "  - id: b"];
  expect(extent(text, 2, 5)).toEqual({ from: 2, to: 3 });
});

test("in JSON the brackets decide", () => {
  const text = ['{"tasks": [', '  {"id": "a", "text": "}",', '   "arguments": {"x": [1]}},', '  {"id": "b"}', "]}"];
  expect(extent(text, 2, 3)).toEqual({ from: 2, to: 3 });
  expect(extent(text, 4, 3)).toEqual({ from: 4, to: 4 });
});

test("a line belongs to its innermost node", () => {
  const all = { choose: extent(yaml, line("- id: choose"), 9)!, exit: extent(yaml, line("- id: exit"), 9)!, tool: extent(yaml, line("- name: choose_shipping"), 5)! };
  expect(nodeAt(all, line("rule: { and"))).toBe("choose");
  expect(nodeAt(all, line("weight_kg:"))).toBe("tool");
  expect(nodeAt(all, 1)).toBeUndefined();
});

const flaw = (more: Partial<Flaw>): Flaw => ({ severity: "error", code: "X", message: "odd", line: 1, column: 1, ...more });

test("a flaw is marked at its position", () => {
  const text = lines("a: 1\nb: 𝒳 next\n");
  expect(flawRange(flaw({ line: 2, column: 6, end_line: 2, end_column: 10 }), text)).toMatchObject({ from: 11, to: 15 });
  expect(flawRange(flaw({ line: 1, column: 4 }), text)).toMatchObject({ from: 3, to: 4 });
  expect(flawRange(flaw({ line: 1, column: 1, end_line: 2, end_column: 3 }), text)).toMatchObject({ from: 0, to: 4 });
  expect(flawRange(flaw({ line: 0 }), text)).toMatchObject({ from: 0, to: 0 });
  expect(flawRange(flaw({ line: 99, column: 5 }), text).from).toBe(text.length);
});

test("flaws are counted on the nodes of the workflow that is shown", () => {
  const all = [flaw({ node: "a", workflow: "w" }), flaw({ node: "a", workflow: "w" }), flaw({ node: "a", workflow: "other" }), flaw({})];
  expect(countByNode(all, "w")).toEqual({ a: 2 });
});

test("patches count characters, the editor counts code units", () => {
  expect(toCodeUnits("a𝒳b", [{ from: 2, to: 3, insert: "c" }])).toEqual([{ from: 3, to: 4, insert: "c" }]);
  expect(toCodeUnits("ab", [{ from: 2, to: 2, insert: "!" }])).toEqual([{ from: 2, to: 2, insert: "!" }]);
});

test("two texts are compared line by line", () => {
  const rows = lineDiff("a\nb\nc\nd", "a\nx\nc\nd\ne");
  expect(rows.map((row) => `${row.kind[0]}${row.text}`)).toEqual(["sa", "gb", "nx", "sc", "sd", "ne"]);
  expect(rows[3]).toEqual({ kind: "same", text: "c", left: 3, right: 3 });
  expect(lineDiff("same", "same")).toEqual([{ kind: "same", text: "same", left: 1, right: 1 }]);
});

test("unchanged lines are omitted from a diff", () => {
  const before = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const after = before.map((text, at) => (at === 15 ? "other" : text));
  const shown = hunks(lineDiff(before.join("\n"), after.join("\n")));
  expect(shown).toHaveLength(10);
  expect(shown[0]).toBeUndefined();
  expect(shown[9]).toBeUndefined();
});

test("a new node is complete enough to be drawn", () => {
  const drawn = graph([node("a"), node("b"), node("exit", "exit")], [edge("a", "b")]);
  expect(newNode("yaml", "call", "n", "mail:send", drawn, "a")).toEqual({ id: "n", kind: "call", server: "mail", tool: "send", args: {} });
  expect(newNode("yaml", "choose", "n", '{"var": "a"}', drawn, "a")).toEqual({ id: "n", kind: "choose", conditions: [{ rule: { var: "a" }, next: "b" }] });
  expect(newNode("yaml", "choose", "n", "a > 1", drawn, undefined)).toMatchObject({ conditions: [{ rule: "a > 1", next: "exit" }] });
  expect(newNode("dag", "compute", "n", "1 + 1", drawn, "a")).toEqual({ id: "n", kind: "compute", expr: "1 + 1" });
  expect(kindsOf("sop")).toEqual(["step", "decision", "end"]);
  expect(newNode("sop", "decision", "A", " How bad? ", { name: "t", direction: "TB", nodes: [], edges: [] }, undefined)).toEqual({ id: "A", kind: "decision", text: "How bad?" });
  expect(kindsOf("other")).toEqual([]);
  expect(promptOf("yaml", "exit")).toBeUndefined();
});

test("the fields of a node are read from its lines and written back one by one", () => {
  const text = yaml.join("\n");
  const fields = fieldsOf(text, extent(yaml, line("- id: freight"), 9)!, "yaml")!;
  expect(fields).toMatchObject({ id: "freight", type: "transform", next: "exit" });
  expect(fieldEdits("freight", fields, { ...fields, next: "other", description: "Heavy." }, "yaml")).toEqual([{ op: "set_field", id: "freight", path: ["description"], value: "Heavy." }]);
  expect(fieldEdits("a", { id: "a", join: "all" }, { id: "a" }, "yaml")).toEqual([{ op: "set_field", id: "a", path: ["join"], value: null }]);
  expect(fieldsOf('[\n  {"id": "a"},\n]', { from: 2, to: 2 }, "dag")).toEqual({ id: "a" });
  expect(fieldsOf("- id: [", { from: 1, to: 1 }, "yaml")).toBeUndefined();
});

test("the side form has the fields of the node's type", () => {
  const schema = JSON.parse(readFileSync(new URL("../../schemas/yaml-graph.schema.json", import.meta.url), "utf8"));
  const keys = (type: string) => Object.keys((nodeSchema(schema, "yaml", { id: "a", type }) as { properties: object }).properties);
  expect(keys("mcp")).toEqual(expect.arrayContaining(["server", "tool", "args", "timeout"]));
  expect(keys("transform")).not.toContain("server");
  expect(keys("transform")).not.toContain("next");
  expect(keys("transform")).not.toContain("tool");
});

test("a free value is formatted briefly and parsed to the same value", () => {
  for (const value of ["plain", "$.entry.path", "5", "true", "{not json", "", 5, true, null, { a: [1] }]) {
    if (value !== "") expect(parseFreeValue(formatFreeValue(value))).toEqual(value);
  }
  expect(formatFreeValue("5")).toBe('"5"');
  expect(formatFreeValue("$sum(a)")).toBe("$sum(a)");
  expect(parseFreeValue(" ")).toBeUndefined();
});

const step = "## Steps\n\n### a\n\nProse.\n\n- type: read-file\n- path: ${x}\n- retry: { max: 1 }\n\n```jsonata expr\n# no heading\n```\n\n### b\n".split("\n");

test("a step written as Markdown has the lines up to the next heading", () => {
  expect(extent(step, 3, 5, "markdown")).toEqual({ from: 3, to: 13 });
  expect(extent(["flowchart TD", "    A --> B", "    B --> C"], 2, 1, "sop")).toEqual({ from: 2, to: 2 });
});

test("the parameters of a step are read in the shape of an IR and written back line by line", () => {
  const fields = fieldsOf(step.join("\n"), { from: 3, to: 13 }, "markdown")!;
  expect(fields).toEqual({ type: "read-file", retry: { max: 1 }, params: { path: "${x}" } });
  const after = { ...fields, params: { path: "b", more: 1 } };
  expect(fieldEdits("a", fields, after, "markdown")).toEqual([
    { op: "set_field", id: "a", path: ["params", "path"], value: "b" },
    { op: "set_field", id: "a", path: ["params", "more"], value: 1 },
  ]);
});
