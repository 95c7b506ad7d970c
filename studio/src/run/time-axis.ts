// A time axis with idle time collapsed, so that bursts stay readable next to hours of waiting. Pure.

/** A drawn stretch of time: from `from` to `to`, starting at `at` on the axis. */
export type Stretch = { from: number; to: number; at: number; idle: boolean };
export type Axis = { stretches: Stretch[]; length: number };

/** A gap between two steps is collapsed if it is longer than this share of all busy time… */
const IDLE_SHARE = 0.04;
/** …and longer than this. */
const IDLE_MS_MIN = 250;
/** The length of a collapsed gap on the axis, as a share of all busy time: wide enough for a bar and a label… */
const CUT_SHARE = 0.12;
/** …and that of all gaps together. */
const CUTS_SHARE_MAX = 0.4;

/** The axis for steps that start at `starts` (ascending) and last `longs`. */
export function axis(starts: ArrayLike<number>, longs: ArrayLike<number>, collapse = true): Axis {
  const busy = unite(starts, longs);
  if (busy.length === 0) return { stretches: [], length: 1 };
  const total = busy.reduce((sum, [from, to]) => sum + (to - from), 0);
  const most = Math.max(IDLE_MS_MIN, total * IDLE_SHARE);
  const gaps = busy.filter(([from], index) => index > 0 && from - busy[index - 1]![1] > most).length;
  const cut = Math.max(1, total * Math.min(CUT_SHARE, CUTS_SHARE_MAX / Math.max(1, gaps)));
  const stretches: Stretch[] = [];
  let at = 0;
  const push = (from: number, to: number, long: number, idle: boolean) => {
    const last = stretches[stretches.length - 1];
    if (last && !idle && !last.idle) last.to = to;
    else stretches.push({ from, to, at, idle });
    at += long;
  };
  busy.forEach(([from, to], index) => {
    const before = busy[index - 1];
    const gap = before ? from - before[1] : 0;
    if (before && gap > 0) {
      const idle = collapse && gap > most;
      push(before[1], from, idle ? cut : gap, idle);
    }
    push(from, to, to - from, false);
  });
  return { stretches, length: Math.max(at, 1) };
}

/** The axis for steps of which some only wait: that is idle time too. */
export function axisOf(all: { start: number; long: number; waits: boolean }[], collapse = true): Axis {
  const busy = all.filter((one) => !one.waits);
  // The first start and the last end are always on the axis.
  const first = all.reduce((least, one) => Math.min(least, one.start), Infinity);
  const last = all.reduce((most, one) => Math.max(most, one.start + one.long), -Infinity);
  const marks = all.length ? [{ start: first, long: 0 }, ...busy, { start: last, long: 0 }] : [];
  marks.sort((a, b) => a.start - b.start);
  const starts = marks.map((one) => one.start);
  return axis(starts, marks.map((one) => one.long), collapse);
}

/** When anything was running, as disjoint stretches. */
function unite(starts: ArrayLike<number>, longs: ArrayLike<number>): [number, number][] {
  const busy: [number, number][] = [];
  for (let index = 0; index < starts.length; index++) {
    const from = starts[index]!;
    const to = from + Math.max(longs[index]!, 1);
    const last = busy[busy.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else busy.push([from, to]);
  }
  return busy;
}

/** The last stretch that starts at or before `value`, by time or by position on the axis. */
function stretch(on: Axis, value: number, by: "from" | "at"): Stretch | undefined {
  let [from, to] = [0, on.stretches.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (on.stretches[middle]![by] <= value) from = middle + 1;
    else to = middle;
  }
  return on.stretches[Math.max(0, from - 1)];
}

function longOn(on: Axis, one: Stretch): number {
  const next = on.stretches[on.stretches.indexOf(one) + 1];
  return (next ? next.at : on.length) - one.at;
}

/** The position of a time on the axis. */
export function positionOf(on: Axis, ms: number): number {
  const one = stretch(on, ms, "from");
  if (!one) return 0;
  const share = one.to === one.from ? 0 : (ms - one.from) / (one.to - one.from);
  if (!one.idle) return one.at + Math.max(0, ms - one.from);
  return one.at + Math.min(1, Math.max(0, share)) * longOn(on, one);
}

/** The time at a position on the axis. */
export function timeAt(on: Axis, at: number): number {
  const one = stretch(on, at, "at");
  if (!one) return 0;
  const inside = Math.max(0, at - one.at);
  return one.idle ? one.from + (inside / longOn(on, one)) * (one.to - one.from) : one.from + inside;
}
