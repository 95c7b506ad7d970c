// What is offered while somebody types, by the real schemas of the formats.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Schema } from "../src/api/types";
import { jsonPlace, yamlPlace } from "../src/editor/path";
import { suggest, type Known } from "../src/editor/suggest";

const schema = (name: string) => JSON.parse(readFileSync(new URL(`../../schemas/${name}.schema.json`, import.meta.url), "utf8")) as Schema;
const graph = schema("yaml-graph");
const known: Known = { nodes: ["entry", "send"], tools: [{ name: "builtin:read-file" }, { name: "mail:send" }], workflows: [{ name: "order" }] };

/** The place of `¦` in a text. */
function yaml(text: string) {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("¦")) + 1;
  const column = lines[line - 1]!.indexOf("¦") + 1;
  return yamlPlace(text.replace("¦", "").split("\n"), line, column);
}
const json = (text: string) => jsonPlace(text.replace("¦", ""), text.indexOf("¦"));

const head = "server:\n  name: s\ntools:\n  - name: t\n    nodes:\n";

test("a place in YAML is told by indents", () => {
  expect(yaml("ser¦")).toEqual({ path: [], key: undefined, beside: {} });
  expect(yaml(head + "      - id: a\n        type: mcp\n        ¦")).toEqual({ path: ["tools", "*", "nodes", "*"], key: undefined, beside: { id: "a", type: "mcp" } });
  expect(yaml(head + "      - id: a\n        next: ¦\n        type: exit")).toMatchObject({ key: "next", beside: { id: "a", type: "exit" } });
  expect(yaml(head + "      - ¦")).toMatchObject({ path: ["tools", "*", "nodes", "*"] });
  expect(yaml("a:\n- x: 1\n  y: ¦")).toEqual({ path: ["a", "*"], key: "y", beside: { x: "1" } });
  expect(yaml("a: |\n  b: c\nd: ¦")).toEqual({ path: [], key: "d", beside: { a: "|" } });
  expect(yaml(head + "      - id: a\n        next:\n          - ¦")).toMatchObject({ path: ["tools", "*", "nodes", "*", "next", "*"] });
});

test("a place in JSON is told by brackets", () => {
  expect(json('{"tasks": [{"id": "a", "¦"}]}')).toEqual({ path: ["tasks", "*"], key: undefined, beside: { id: "a" } });
  expect(json('{"tasks": [{"tool": "¦", "id": "a"}]}')).toEqual({ path: ["tasks", "*"], key: "tool", beside: { id: "a" } });
  expect(json('{"tasks": [{"depends_on": ["¦"]}]}')).toMatchObject({ path: ["tasks", "*", "depends_on", "*"] });
});

test("keys are offered as the type of the node has them", () => {
  const offered = (type: string) => suggest(graph, yaml(head + `      - id: a\n        type: ${type}\n        ¦`), known).map((one) => one.text);
  expect(offered("mcp")).toEqual(expect.arrayContaining(["server", "tool", "args", "retry", "next"]));
  expect(offered("mcp")).not.toContain("id");
  expect(offered("exit")).not.toContain("args");
  expect(offered("transform")).toContain("transform");
  expect(suggest(graph, yaml("¦"), known).map((one) => one.text)).toEqual(expect.arrayContaining(["server", "tools"]));
});

test("values are offered: of lists, of nodes, of tools", () => {
  expect(suggest(graph, yaml(head + "      - id: a\n        type: ¦"), known).map((one) => one.text)).toContain("switch");
  expect(suggest(graph, yaml(head + "      - id: a\n        type: mcp\n        join: ¦"), known).map((one) => one.text)).toEqual(["any", "all"]);
  expect(suggest(graph, yaml(head + "      - id: a\n        next: ¦"), known).map((one) => one.text)).toEqual(["entry", "send"]);
  expect(suggest(graph, yaml(head + "      - id: a\n        server: builtin\n        tool: ¦"), known).map((one) => one.text)).toEqual(["read-file"]);
  expect(suggest(graph, yaml(head + "      - id: a\n        type: workflow\n        workflow: ¦"), known).map((one) => one.text)).toEqual(["order"]);
  expect(suggest(schema("json-dag"), json('{"tasks": [{"tool": "¦"}]}'), known).map((one) => one.text)).toEqual(["builtin:read-file", "mail:send"]);
  expect(suggest(schema("json-dag"), json('{"tasks": [{"depends_on": ["¦"]}]}'), known).map((one) => one.text)).toEqual(["entry", "send"]);
});

test("without a schema nodes are still offered", () => {
  expect(suggest(undefined, yaml("next: ¦"), known)).toHaveLength(2);
  expect(suggest(undefined, yaml("¦"), known)).toEqual([]);
});
