// Completions while typing, with the real schemas of the formats.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Schema } from "../src/api/types";
import { jsonPath, markdownPath, yamlPath } from "../src/editor/cursor-path";
import { toolAt, suggest, suggestInStep, toolNameAt, type DocumentContext } from "../src/editor/completions";

const schema = (name: string) => JSON.parse(readFileSync(new URL(`../../schemas/${name}.schema.json`, import.meta.url), "utf8")) as Schema;
const graph = schema("yaml-graph");
const known: DocumentContext = { nodes: ["entry", "send"], tools: [{ name: "builtin:read-file" }, { name: "mail:send" }], workflows: [{ name: "order" }] };

/** The position of `¦` in a text. */
function yaml(text: string) {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("¦")) + 1;
  const column = lines[line - 1]!.indexOf("¦") + 1;
  return yamlPath(text.replace("¦", "").split("\n"), line, column);
}
const json = (text: string) => jsonPath(text.replace("¦", ""), text.indexOf("¦"));

/** A position without its surroundings. */
const bare = ({ path, key, beside }: ReturnType<typeof yaml>) => ({ path, key, beside });

const head = "server:\n  name: s\ntools:\n  - name: t\n    nodes:\n";

test("a position in YAML is found by indentation", () => {
  expect(bare(yaml("ser¦"))).toEqual({ path: [], key: undefined, beside: {} });
  expect(bare(yaml(head + "      - id: a\n        type: mcp\n        ¦"))).toEqual({ path: ["tools", "*", "nodes", "*"], key: undefined, beside: { id: "a", type: "mcp" } });
  expect(yaml(head + "      - id: a\n        next: ¦\n        type: exit")).toMatchObject({ key: "next", beside: { id: "a", type: "exit" } });
  expect(yaml(head + "      - ¦")).toMatchObject({ path: ["tools", "*", "nodes", "*"] });
  expect(bare(yaml("a:\n- x: 1\n  y: ¦"))).toEqual({ path: ["a", "*"], key: "y", beside: { x: "1" } });
  expect(bare(yaml("a: |\n  b: c\nd: ¦"))).toEqual({ path: [], key: "d", beside: { a: "|" } });
  expect(yaml(head + "      - id: a\n        next:\n          - ¦")).toMatchObject({ path: ["tools", "*", "nodes", "*", "next", "*"] });
});

test("a position in JSON is found by brackets", () => {
  expect(bare(json('{"tasks": [{"id": "a", "¦"}]}'))).toEqual({ path: ["tasks", "*"], key: undefined, beside: { id: "a" } });
  expect(bare(json('{"tasks": [{"tool": "¦", "id": "a"}]}'))).toEqual({ path: ["tasks", "*"], key: "tool", beside: { id: "a" } });
  expect(json('{"tasks": [{"depends_on": ["¦"]}]}')).toMatchObject({ path: ["tasks", "*", "depends_on", "*"] });
});

test("keys are offered by the type of the node", () => {
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

const takes: Schema = {
  type: "object",
  required: ["to"],
  properties: { body: { type: "string", description: "What it says." }, to: { type: "string" }, how: { enum: ["fast", "slow"] }, more: { type: "object", properties: { deep: {} } } },
};

test("arguments of the tool are offered, required ones first", () => {
  const node = (inside: string) => yaml(head + `      - id: a\n        server: mail\n        tool: send\n        args:\n${inside}\n        next: b`);
  const at = node("          ¦");
  expect(toolAt(at)).toBe("mail:send");
  expect(suggest(graph, at, { ...known, takes }).map((one) => one.text)).toEqual(["to", "body", "how", "more"]);
  expect(suggest(graph, at, { ...known, takes })[1]).toMatchObject({ about: "string: What it says." });
  expect(suggest(graph, node("          to: x\n          ¦"), { ...known, takes }).map((one) => one.text)).not.toContain("to");
  expect(suggest(graph, node("          how: ¦"), { ...known, takes }).map((one) => one.text)).toEqual(["fast", "slow"]);
  expect(suggest(graph, node("          more:\n            ¦"), { ...known, takes }).map((one) => one.text)).toEqual(["deep"]);
  expect(suggest(graph, at, known)).toEqual([]);
});

test("a position inside brackets on a line is found too", () => {
  const at = yaml(head + "      - id: a\n        server: mail\n        tool: send\n        args: { to: x, ¦ }\n        next: b");
  expect(bare(at)).toEqual({ path: ["tools", "*", "nodes", "*", "args"], key: undefined, beside: { to: "x" } });
  expect(toolAt(at)).toBe("mail:send");
  expect(suggest(graph, at, { ...known, takes }).map((one) => one.text)).toEqual(["body", "how", "more"]);
  expect(bare(yaml(head + "      - { id: a, type: ¦ }"))).toEqual({ path: ["tools", "*", "nodes", "*"], key: "type", beside: { id: "a" } });
  expect(bare(yaml(head + "      - id: a\n        next: [¦]"))).toMatchObject({ path: ["tools", "*", "nodes", "*", "next", "*"] });
  expect(bare(yaml("a: {b: c}\nd: ¦"))).toEqual({ path: [], key: "d", beside: { a: "{b: c}" } });
});

test("the tool of a call is found before and below its arguments", () => {
  expect(toolAt(yaml(head + "      - id: a\n        args:\n          ¦\n        workflow: order"))).toBe("workflow:order");
  expect(toolAt(json('{"tasks": [{"arguments": {"¦"}, "tool": "mail:send"}]}'))).toBe("mail:send");
  expect(toolAt(json('{"nodes": [{"type": "read-file", "params": {"¦"}}]}'))).toBe("read-file");
  expect(toolAt(yaml(head + "      - id: a\n        ¦"))).toBeUndefined();
  expect(toolNameAt(yaml(head + "      - id: a\n        server: mail\n        tool: ¦"), "yaml")).toEqual({ server: "mail" });
  expect(toolNameAt(json('{"nodes": [{"type": "¦"}]}'), "ir")).toEqual({ server: undefined });
  expect(toolNameAt(yaml(head + "      - id: a\n        type: ¦"), "yaml")).toBeUndefined();
});

test("a step written as Markdown is completed as a node of an IR is, its arguments among the rest", () => {
  const step = (line: string) => {
    const lines = `# Post\n\n## Steps\n\n### first\n\nProse.\n\n- type: mail:send\n${line}\n\n### second\n\n- type: end\n`.split("\n");
    return markdownPath(lines.map((one) => one.replace("¦", "")), 10, line.indexOf("¦") + 1);
  };
  const keys = step("- ¦")!;
  expect(toolAt(keys, true)).toBe("mail:send");
  const offered = suggestInStep(schema("pflow-ir"), keys, { ...known, takes }).map((one) => one.text);
  expect(offered.slice(0, 2)).toEqual(["to", "body"]);
  expect(offered).toContain("retry");
  expect(offered).not.toContain("params");
  expect(suggestInStep(schema("pflow-ir"), step("- next: ¦")!, known).map((one) => one.text)).toEqual(["entry", "send"]);
  expect(suggestInStep(schema("pflow-ir"), step("- type: ¦")!, known).map((one) => one.text)).toContain("mail:send");
  expect(step("Prose ¦")).toBeUndefined();
});
