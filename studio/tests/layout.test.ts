// Node positions: in their layer, next to each other, never overlapping.
import { expect, test } from "vitest";
import { layout } from "../src/graph/layout";
import { edge, graph, node, wide } from "./graphs";

const diamond = graph(
  ["entry", "left", "right", "slow", "exit"].map((id) => node(id)),
  [edge("entry", "left"), edge("entry", "right"), edge("left", "slow"), edge("slow", "exit"), edge("right", "exit")],
);

test("nodes that can run in parallel are next to each other", () => {
  const { boxes } = layout(diamond);
  expect(boxes["left"]!.y).toBe(boxes["right"]!.y);
  expect(boxes["left"]!.x).not.toBe(boxes["right"]!.x);
  expect(boxes["exit"]!.y).toBeGreaterThan(boxes["slow"]!.y);
});

test("each layer is a band that contains its nodes", () => {
  const { bands, boxes } = layout(diamond);
  expect(bands.map((band) => band.rank)).toEqual([0, 1, 2, 3]);
  expect(boxes["right"]!.y).toBeGreaterThan(bands[1]!.y);
  expect(boxes["right"]!.y + boxes["right"]!.height).toBeLessThan(bands[1]!.y + bands[1]!.height);
});

test("loops, double edges and an edge to itself are drawn", () => {
  const again = graph(
    [node("a"), node("b")],
    [edge("a", "b"), edge("a", "b", { label: "other", kind: "labelled" }), edge("b", "a", { kind: "error" }), edge("b", "b")],
  );
  const { ways } = layout(again);
  expect(Object.keys(ways)).toHaveLength(4);
  for (const way of Object.values(ways)) expect(way.points.length).toBeGreaterThan(1);
});

test("an edge to a missing node is dropped", () => {
  const { ways } = layout(graph([node("a")], [edge("a", "gone")]));
  expect(ways).toEqual({});
});

test("five hundred nodes do not overlap, and the same graph gives the same layout", () => {
  const big = wide(50, 10);
  const { boxes } = layout(big);
  const rows = new Map<number, { x: number; width: number }[]>();
  for (const box of Object.values(boxes)) rows.set(box.y, [...(rows.get(box.y) ?? []), box]);
  for (const row of rows.values()) {
    row.sort((a, b) => a.x - b.x);
    row.slice(1).forEach((box, index) => expect(box.x).toBeGreaterThanOrEqual(row[index]!.x + row[index]!.width));
  }
  expect(layout(big).boxes).toEqual(boxes);
}, 60_000);
