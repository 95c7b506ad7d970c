// What the page sends for a layout, and what it makes of the reply. The layout itself is tested in Rust.
import { expect, test } from "vitest";
import { layoutRequest, nodeSize, readLayout } from "../src/graph/layout";
import { edge, graph, node } from "./graphs";
import { layered } from "./layered";

const diamond = graph(
  ["entry", "left", "right", "slow", "exit"].map((id, at) => ({ ...node(id, id === "entry" ? "entry" : "call"), layer: [0, 1, 1, 2, 3][at] })),
  [edge("entry", "left"), edge("entry", "right"), edge("left", "slow"), edge("slow", "exit"), edge("right", "exit", { label: "late", kind: "labelled" })],
);

test("a request has the sizes of nodes and labels", () => {
  const asked = layoutRequest(diamond);
  expect(asked.nodes[0]).toEqual({ id: "entry", ...nodeSize(diamond.nodes[0]!), start: true });
  expect(asked.edges[4]!.label!.width).toBeGreaterThan(20);
  expect(asked.edges[0]!.label).toBeUndefined();
  expect(layoutRequest({ ...diamond, direction: "LR" }).direction).toBe("LR");
});

test("a longer text makes a wider node, up to a limit", () => {
  const width = (label: string) => nodeSize({ ...node("a"), label }).width;
  expect(width("x".repeat(20))).toBeGreaterThan(width("x"));
  expect(width("x".repeat(400))).toBeLessThanOrEqual(288);
});

test("each layer is a band that contains its nodes", () => {
  const { bands, boxes, ways } = readLayout(diamond, layered(layoutRequest(diamond)));
  expect(bands.map((band) => [band.rank, band.layer])).toEqual([[0, 0], [1, 1], [2, 2], [3, 3]]);
  expect(boxes["right"]!.y).toBeGreaterThan(bands[1]!.y);
  expect(boxes["right"]!.y + boxes["right"]!.height).toBeLessThan(bands[1]!.y + bands[1]!.height);
  expect(Object.keys(ways)).toHaveLength(5);
});
