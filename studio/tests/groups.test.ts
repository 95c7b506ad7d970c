// Groups that can be folded, the folded graph, and the names that are shown from afar.
import { expect, test } from "vitest";
import { dominators, fold, groupsOf } from "../src/graph/groups";
import { landmarks, zoomStep } from "../src/graph/landmarks";
import { layoutRequest, readLayout } from "../src/graph/layout";
import { edge, graph, node, wide } from "./graphs";
import { layered } from "./layered";

const branches = graph(
  [node("entry", "entry"), node("which", "choose"), node("a"), node("a1"), node("a2"), node("b"), node("b1"), node("exit", "exit")],
  [
    edge("entry", "which"), edge("which", "a", { label: "yes", kind: "labelled" }), edge("which", "b", { label: "no", kind: "labelled" }),
    edge("a", "a1"), edge("a1", "a2"), edge("a2", "a"), edge("a2", "exit"), edge("b", "b1"), edge("b1", "exit"),
  ],
);

test("the nearest node that all ways lead through is found, also with loops", () => {
  const above = dominators(branches);
  expect(Object.fromEntries(above)).toEqual({ which: "entry", a: "which", a1: "a", a2: "a1", b: "which", b1: "b", exit: "which" });
});

test("a branch is a group, a chain and the whole graph are not", () => {
  const groups = groupsOf(branches);
  expect(groups.get("a")?.members).toEqual(["a1", "a2"]);
  expect([...groups.keys()]).not.toContain("entry");
  expect([...groups.keys()]).not.toContain("a1");
});

test("a folded group keeps its edges to the rest", () => {
  const { graph: folded, shownAs } = fold(branches, groupsOf(branches), new Set(["a"]));
  expect(folded.nodes.map((one) => one.id)).toEqual(["entry", "which", "a", "b", "b1", "exit"]);
  expect(folded.edges.filter((one) => one.from === "a").map((one) => one.to)).toEqual(["exit"]);
  expect(folded.edges.find((one) => one.to === "a")?.label).toBe("yes");
  expect(shownAs.get("a2")).toBe("a");
});

test("a group inside of a folded one needs no node", () => {
  const groups = groupsOf(branches);
  const { graph: folded } = fold(branches, groups, new Set(groups.keys()));
  expect(folded.nodes.length).toBeLessThan(5);
  for (const one of folded.edges) expect(folded.nodes.some((each) => each.id === one.to)).toBe(true);
});

test("five hundred nodes in which everything is connected are folded by layers", () => {
  const big = wide(50, 10);
  const groups = groupsOf(big);
  const { graph: folded } = fold(big, groups, new Set(groups.keys()));
  expect(folded.nodes).toHaveLength(50);
  expect(folded.edges).toHaveLength(49);
  expect(folded.nodes[3]).toMatchObject({ label: "Layer 3", detail: "10 nodes" });
});

test("from afar as many names are shown as fit, the important ones first", () => {
  const big = wide(50, 10);
  const laid = readLayout(big, layered(layoutRequest(big)));
  const far = landmarks(big, laid, 0.1, (id) => (id === "n7_3" ? 1 : 0));
  const near = landmarks(big, laid, 0.45, () => 0);
  expect(far[0]!.id).toBe("n7_3");
  expect(far.length).toBeGreaterThan(5);
  expect(near.length).toBeGreaterThan(far.length);
  for (const [at, one] of far.entries()) for (const other of far.slice(at + 1)) expect(Math.abs(one.y - other.y) * 0.1 >= 22 || Math.abs(one.x - other.x) * 0.1 > 30).toBe(true);
  expect(zoomStep(0.33)).toBeLessThanOrEqual(0.33);
  expect(zoomStep(0.33)).toBe(zoomStep(0.34));
});
