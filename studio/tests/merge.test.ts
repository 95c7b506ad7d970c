// The three-way merge: nothing of either side is lost.
import { expect, test } from "vitest";
import { conflictCount, merge3, merged } from "../src/editor/merge";

const base = "a\nb\nc\nd\ne\n";

test("changes at different places are merged", () => {
  const parts = merge3(base, "a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
  expect(conflictCount(parts)).toBe(0);
  expect(merged(parts, {})).toBe("a\nB\nc\nd\nE\n");
});

test("an insertion and a removal at different places are merged", () => {
  expect(merged(merge3(base, "a\nb\nnew\nc\nd\ne\n", "b\nc\nd\ne\n"), {})).toBe("b\nnew\nc\nd\ne\n");
  expect(merged(merge3(base, "first\na\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\nlast\n"), {})).toBe("first\na\nb\nc\nd\ne\nlast\n");
});

test("the same change on both sides is no conflict", () => {
  const parts = merge3(base, "a\nX\nc\nd\ne\n", "a\nX\nc\nd\ne\n");
  expect(conflictCount(parts)).toBe(0);
  expect(merged(parts, {})).toBe("a\nX\nc\nd\ne\n");
});

test("different changes at one place are a conflict that has to be decided", () => {
  const parts = merge3(base, "a\nmine\nc\nd\ne\n", "a\ntheirs\nc\nd\ne\n");
  expect(conflictCount(parts)).toBe(1);
  expect(merged(parts, {})).toBeUndefined();
  const at = parts.findIndex((part) => part.kind === "conflict");
  expect(merged(parts, { [at]: "mine" })).toBe("a\nmine\nc\nd\ne\n");
  expect(merged(parts, { [at]: "theirs" })).toBe("a\ntheirs\nc\nd\ne\n");
  expect(merged(parts, { [at]: "both" })).toBe("a\nmine\ntheirs\nc\nd\ne\n");
});

test("insertions of both sides at one place are a conflict", () => {
  const parts = merge3(base, "a\nx\nb\nc\nd\ne\n", "a\ny\nb\nc\nd\ne\n");
  expect(conflictCount(parts)).toBe(1);
  const at = parts.findIndex((part) => part.kind === "conflict");
  expect(merged(parts, { [at]: "both" })).toBe("a\nx\ny\nb\nc\nd\ne\n");
});

test("choosing one side everywhere gives that side plus the other's undisputed changes", () => {
  // A thousand random edits: with only one side changed, the merge is that side.
  let seed = 7;
  const random = (most: number) => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) % most;
  for (let turn = 0; turn < 1_000; turn++) {
    const lines = Array.from({ length: random(12) + 1 }, () => "abc"[random(3)]!);
    const edited = lines.flatMap((line) => (random(4) === 0 ? [] : random(4) === 0 ? [line, "new"] : [line]));
    const [from, side] = [lines.join("\n"), edited.join("\n")];
    const choose = (parts: ReturnType<typeof merge3>) => merged(parts, {});
    expect(choose(merge3(from, side, from)), `${turn}`).toBe(side || (edited.length ? side : ""));
    expect(choose(merge3(from, from, side)), `${turn}`).toBe(side || (edited.length ? side : ""));
    expect(choose(merge3(from, side, side)), `${turn}`).toBe(side || (edited.length ? side : ""));
  }
});
