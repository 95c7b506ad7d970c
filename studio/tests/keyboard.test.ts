// Arrow keys, node search, routes, and splitting of event streams.
import { expect, test } from "vitest";
import { splitEvents } from "../src/api/events";
import { matching, neighbour } from "../src/graph/keyboard";
import { layoutRequest, readLayout } from "../src/graph/layout";
import { layered } from "./layered";
import { mermaid } from "../src/graph/mermaid";
import { svg } from "../src/graph/svg";
import { parse, to } from "../src/router";
import { edge, graph, node } from "./graphs";
import type { Graph } from "../src/api/types";

const layout = (of: Graph) => readLayout(of, layered(layoutRequest(of)));

const fork = graph(
  [node("entry", "entry"), node("left"), node("right"), node("exit", "exit")],
  [edge("entry", "left"), edge("entry", "right"), edge("left", "exit"), edge("right", "exit")],
);

test("arrows follow edges and move to neighbours", () => {
  const laid = layout(fork);
  const first = neighbour(fork, laid, "entry", "ArrowDown")!;
  const other = first === "left" ? "right" : "left";
  const beside = laid.boxes[other]!.x > laid.boxes[first]!.x ? "ArrowRight" : "ArrowLeft";
  expect(neighbour(fork, laid, first, beside)).toBe(other);
  expect(neighbour(fork, laid, other, "ArrowDown")).toBe("exit");
  expect(neighbour(fork, laid, "entry", "ArrowUp")).toBeUndefined();
});

test("a node is found by a part of its name", () => {
  expect(matching(fork, "IGH")).toEqual(["right"]);
  expect(matching(fork, " ")).toEqual([]);
});

test("URLs and pages map to each other", () => {
  expect(parse("/studio")).toEqual({ page: "home" });
  expect(parse("/studio/tools")).toEqual({ page: "tools" });
  expect(parse(to("runs", "run_1", "steps", 7))).toEqual({ page: "run", run: "run_1", step: 7 });
  expect(parse(to("tools", "a/b c"))).toEqual({ page: "tool", name: "a/b c" });
  expect(parse("/studio/runs/run_1/other")).toEqual({ page: "lost", path: "/studio/runs/run_1/other" });
});

test("a stream is split at empty lines, wherever its chunks end", () => {
  const { data, rest } = splitEvents(": here\n\nid: 1\ndata: {\"a\":1}\n\nid: 2\ndata: {\"b\"");
  expect(data).toEqual(['{"a":1}']);
  expect(rest).toBe('id: 2\ndata: {"b"');
});

test("a graph is written as Mermaid and as SVG", () => {
  const odd = graph([node("end"), { ...node("b"), label: 'say "x" & <go>' }], [edge("end", "b", { label: "a|b", kind: "labelled" })]);
  expect(mermaid(odd)).toBe('flowchart TB\n  n0["end"]\n  b["say #quot;x#quot; &amp; <go>"]\n  n0 -->|"a|b"| b\n');
  expect(mermaid(graph([node("a", "decision")], []))).toContain('a{"a"}');
  expect(svg(odd, layout(odd))).toContain("&lt;go&gt;");
});
