// Idle time is collapsed, and the rest keeps its length.
import { since } from "../src/run/timeline-canvas";
import { expect, test } from "vitest";
import { axis, axisOf, timeAt, positionOf } from "../src/run/time-axis";
import { addPage, rowOf, lastAt, noSteps, settledStep } from "../src/run/steps";

test("a long wait between bursts is collapsed, short ones stay", () => {
  // A burst of a second, ten hours of nothing, a burst of a second.
  const starts = [0, 100, 600, 36_000_000, 36_000_500];
  const longs = [100, 400, 400, 500, 500];
  const on = axis(starts, longs);
  expect(on.stretches.map((stretch) => stretch.idle)).toEqual([false, true, false]);
  expect(on.length).toBeLessThan(2_500);
  expect(positionOf(on, 600) - positionOf(on, 100)).toBe(500);
  expect(positionOf(on, 36_000_500) - positionOf(on, 36_000_000)).toBe(500);
});

test("every time has a position and every position its time", () => {
  const starts = [0, 5_000, 90_000, 90_010];
  const longs = [10, 10, 3_000, 20];
  for (const collapse of [true, false]) {
    const on = axis(starts, longs, collapse);
    let before = -1;
    for (const ms of [0, 5, 10, 2_000, 5_005, 40_000, 90_000, 91_500, 93_000]) {
      const at = positionOf(on, ms);
      expect(at).toBeGreaterThan(before);
      expect(timeAt(on, at)).toBeCloseTo(ms, 3);
      before = at;
    }
  }
});

test("a step that only waits is idle time too", () => {
  const on = axisOf([
    { start: 0, long: 100, waits: false },
    { start: 100, long: 3_600_000, waits: true },
    { start: 3_600_100, long: 100, waits: false },
  ]);
  expect(on.stretches.map((stretch) => stretch.idle)).toEqual([false, true, false]);
  // A step that still waits at the end has its position as well.
  const open = axisOf([{ start: 0, long: 10, waits: false }, { start: 10, long: 50_000, waits: true }]);
  expect(positionOf(open, 50_010)).toBeLessThanOrEqual(open.length);
});

test("an empty timeline has an axis too", () => {
  expect(axis([], [])).toEqual({ stretches: [], length: 1 });
  expect(positionOf(axis([], []), 5)).toBe(0);
});

test("pages are put together, and a page that is newer replaces what was open", () => {
  const first = addPage(noSteps, { nodes: ["a", "b"], steps: [[1, 0, 1, 10, 5, 1], [2, 1, 0, 15, null, 1]], next: null });
  expect(settledStep(first.rows)).toBe(1);
  const second = addPage(first, { nodes: ["b", "c"], steps: [[2, 0, 1, 15, 7, 1], [3, 1, 1, 22, 1, 1]], next: null });
  expect(second.nodes).toEqual(["a", "b", "c"]);
  expect(second.rows.map((row) => [row[0], second.nodes[row[1]], row[4]])).toEqual([[1, "a", 5], [2, "b", 7], [3, "c", 1]]);
  expect(settledStep(second.rows)).toBe(3);
  expect(rowOf(second.rows, 3)).toBe(2);
  expect(lastAt(second, "b")).toBe(2);
  expect(lastAt(second, "c", 20)).toBeUndefined();
});

test("marks that are close together have more digits", () => {
  expect([since(0, 0.5), since(0.5, 0.5), since(2, 2), since(999, 100)]).toEqual(["+0.0 ms", "+0.5 ms", "+2 ms", "+999 ms"]);
  expect([since(1_250, 250), since(1_250, 50), since(1_250, 5)]).toEqual(["+1.3 s", "+1.25 s", "+1.250 s"]);
  expect([since(12_000, 2_000), since(125_000, 10)]).toEqual(["+12 s", "+2 min 5 s"]);
});
