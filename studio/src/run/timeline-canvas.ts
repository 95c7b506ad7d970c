// Draws the timeline: only what is in view, and at most one bar per pixel.
import { duration } from "../shell/format";
import { timeAt, positionOf, type Axis } from "./time-axis";
import { ASK_STEP, rowOf, durationOf, startOf, statusOf, stepOf, type Steps } from "./steps";

export type View = {
  /** The visible part of the axis, and the first row of nodes. */
  from: number;
  to: number;
  top: number;
};

export const ROW_HEIGHT = 22;
export const NAMES_WIDTH = 150;
const RULER = 22;
const FONT = "12px Inter, system-ui, sans-serif";
const FONT_SMALL = "11px Inter, system-ui, sans-serif";
const BAR_MIN = 2;

export type TimelineScene = {
  steps: Steps;
  /** Where each step starts on the axis, and its length there. */
  begins: Float64Array;
  longs: Float64Array;
  /** The latest end of any step up to each one: finds the first visible step. */
  reach: Float64Array;
  axis: Axis;
};

/** Computes the positions of all steps once. */
export function timelineScene(steps: Steps, on: Axis, byOrder: boolean, now_ms: number): TimelineScene {
  const many = steps.rows.length;
  const begins = new Float64Array(many);
  const longs = new Float64Array(many);
  const reach = new Float64Array(many);
  let most = 0;
  steps.rows.forEach((row, index) => {
    const begin = byOrder ? index : positionOf(on, startOf(row));
    begins[index] = begin;
    longs[index] = byOrder ? 1 : Math.max(0, positionOf(on, startOf(row) + durationOf(row, now_ms)) - begin);
    most = Math.max(most, begin + longs[index]!);
    reach[index] = most;
  });
  return { steps, begins, longs, reach, axis: byOrder ? { stretches: [], length: Math.max(1, many) } : on };
}

function firstFrom(sorted: Float64Array, value: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle]! < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

export type Ink = { [name: string]: string };

type Context = CanvasRenderingContext2D;

/** Draws what is in view. Returns the number of bars, for tests and measurements. */
export function paint(to: Context, of: TimelineScene, view: View, width: number, height: number, ink: Ink, chosen?: number, now?: number): number {
  to.clearRect(0, 0, width, height);
  const scale = (width - NAMES_WIDTH) / Math.max(view.to - view.from, 1e-9);
  const x = (at: number) => NAMES_WIDTH + (at - view.from) * scale;
  to.save();
  to.beginPath();
  to.rect(NAMES_WIDTH, 0, width - NAMES_WIDTH, height);
  to.clip();
  idleColumns(to, of, view, x, height, ink);
  ticks(to, of, view, x, width, height, ink);
  const drawn = bars(to, of, view, x, height, ink, chosen);
  if (now !== undefined) {
    // What came later is veiled.
    to.globalAlpha = 0.7;
    to.fillStyle = ink["panel"]!;
    to.fillRect(x(now) + 1, RULER, width, height);
    to.globalAlpha = 1;
    to.fillStyle = ink["focus"]!;
    to.fillRect(x(now) - 1, 0, 2, height);
  }
  to.restore();
  names(to, of, view, height, ink);
  return drawn;
}

function bars(to: Context, of: TimelineScene, view: View, x: (at: number) => number, height: number, ink: Ink, chosen?: number): number {
  const last = new Map<number, number>();
  let drawn = 0;
  for (let index = firstFrom(of.reach, view.from); index < of.begins.length; index++) {
    const begin = of.begins[index]!;
    if (begin > view.to) break;
    const row = of.steps.rows[index]!;
    const y = RULER + row[1] * ROW_HEIGHT - view.top;
    if (y < RULER - ROW_HEIGHT || y > height) continue;
    const left = x(begin);
    const wide = Math.max(BAR_MIN, x(begin + of.longs[index]!) - left - 0.5);
    const picked = stepOf(row) === chosen;
    // A step that ends before the end of the last bar on this row, at this resolution, is invisible.
    if (!picked && statusOf(row) === "succeeded" && left + wide <= (last.get(row[1]) ?? -1)) continue;
    last.set(row[1], left + wide);
    bar(to, left, y + 3, wide, ROW_HEIGHT - 6, statusOf(row), ink, picked);
    drawn++;
  }
  return drawn;
}

/** A bar also shows its status by pattern: failed ones are crossed, those that wait for a person striped, other open ones hollow. */
function bar(to: Context, x: number, y: number, wide: number, high: number, status: string, ink: Ink, picked: boolean): void {
  const colour = ink[status] ?? ink["idle"]!;
  to.fillStyle = colour;
  to.strokeStyle = colour;
  to.lineWidth = 1.5;
  if (status === "succeeded") to.fillRect(x, y + 1, wide, high - 2);
  else if (status === "failed") {
    to.fillRect(x, y - 2, wide, high + 4);
    if (wide > 8) {
      to.strokeStyle = ink["panel"]!;
      to.beginPath();
      for (let at = x; at < x + wide; at += 6) {
        to.moveTo(at, y + high);
        to.lineTo(Math.min(at + 6, x + wide), y);
      }
      to.stroke();
    }
  } else if (status === "asking") {
    to.save();
    to.beginPath();
    to.rect(x, y, wide, high);
    to.clip();
    to.globalAlpha = 0.45;
    to.lineWidth = 4;
    to.beginPath();
    for (let at = x - high; at < x + wide; at += 11) {
      to.moveTo(at, y + high);
      to.lineTo(at + high, y);
    }
    to.stroke();
    to.restore();
    to.strokeRect(x + 0.75, y + 0.75, Math.max(1, wide - 1.5), high - 1.5);
  } else to.strokeRect(x + 0.75, y + 1, Math.max(1, wide - 1.5), high - 2);
  if (picked) {
    to.strokeStyle = ink["focus"]!;
    to.lineWidth = 2.5;
    to.strokeRect(x - 2, y - 3, wide + 4, high + 6);
  }
}

/** Collapsed idle time, as striped columns with its length. */
function idleColumns(to: Context, of: TimelineScene, view: View, x: (at: number) => number, height: number, ink: Ink): void {
  of.axis.stretches.forEach((stretch, index) => {
    if (!stretch.idle) return;
    const end = of.axis.stretches[index + 1]?.at ?? of.axis.length;
    if (end < view.from || stretch.at > view.to) return;
    const [left, right] = [x(stretch.at), x(end)];
    to.fillStyle = ink["soft"]!;
    to.fillRect(left, 0, right - left, height);
    to.fillStyle = ink["quiet"]!;
    to.font = FONT_SMALL;
    const words = `⋯ ${idleWords(stretch.to - stretch.from)} ${isAsked(of.steps, stretch.to) ? "waiting for you" : "idle"}`;
    if (right - left > to.measureText(words).width + 6) to.fillText(words, left + 3, 14);
    else if (right - left > to.measureText(`⋯ ${idleWords(stretch.to - stretch.from)}`).width + 6) to.fillText(`⋯ ${idleWords(stretch.to - stretch.from)}`, left + 3, 14);
    else to.fillText("⋯", (left + right) / 2 - 5, 14);
  });
}

/** The approximate distance between two marks of the ruler in pixels. */
const TICK_WIDTH = 130;
const TICK_WORDS_WIDTH = 60;

/** Time since the start, or the number of the step, along the upper edge. */
function ticks(to: Context, of: TimelineScene, view: View, x: (at: number) => number, width: number, height: number, ink: Ink): void {
  const many = Math.max(1, Math.floor((width - NAMES_WIDTH) / TICK_WIDTH));
  const first = of.axis.stretches[0]?.from ?? 0;
  to.font = FONT_SMALL;
  for (let index = 0; index < many; index++) {
    const at = view.from + ((view.to - view.from) * index) / many;
    // Neither a mark nor its text is drawn over collapsed time.
    const end = at + ((view.to - view.from) * TICK_WORDS_WIDTH) / (width - NAMES_WIDTH);
    const idle = of.axis.stretches.some((one, next) => one.idle && end >= one.at && at < (of.axis.stretches[next + 1]?.at ?? of.axis.length));
    if (idle) continue;
    to.fillStyle = ink["soft"]!;
    to.fillRect(x(at), 0, 1, height);
    to.fillStyle = ink["quiet"]!;
    const words = of.axis.stretches.length ? since(timeAt(of.axis, at) - first, (view.to - view.from) / many) : `#${Math.round(at) + 1}`;
    to.fillText(words, x(at) + 4, 14);
  }
}

/** The time of a mark, with enough digits to distinguish it from the next one. */
export function since(ms: number, apart: number): string {
  if (ms < 1_000) return `+${ms.toFixed(apart < 1 ? 1 : 0)} ms`;
  if (ms < 60_000 && apart < 1_000) return `+${(ms / 1_000).toFixed(apart < 10 ? 3 : apart < 100 ? 2 : 1)} s`;
  return `+${duration(ms)}`;
}

/** Questions are the last rows; more than these are not looked at. */
const ASKED_MAX = 16;

/** Whether the run waited for a person at this time. */
function isAsked(steps: Steps, at_ms: number): boolean {
  return steps.rows.slice(-ASKED_MAX).some((row) => stepOf(row) === ASK_STEP && startOf(row) < at_ms);
}

function idleWords(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

function names(to: Context, of: TimelineScene, view: View, height: number, ink: Ink): void {
  to.fillStyle = ink["panel"]!;
  to.fillRect(0, 0, NAMES_WIDTH, height);
  to.fillStyle = ink["ink"]!;
  to.font = FONT;
  const first = Math.max(0, Math.floor((view.top - RULER) / ROW_HEIGHT));
  for (let index = first; index < of.steps.nodes.length; index++) {
    const y = RULER + index * ROW_HEIGHT - view.top;
    if (y > height) break;
    if (y >= RULER - ROW_HEIGHT / 2) to.fillText(shortened(of.steps.nodes[index]!), 6, y + 14);
  }
}

const shortened = (name: string) => (name.length > 22 ? name.slice(0, 21) + "…" : name);

/** The step at a position of the canvas. */
export function stepAt(of: TimelineScene, view: View, width: number, px: number, py: number): number | undefined {
  const scale = (width - NAMES_WIDTH) / Math.max(view.to - view.from, 1e-9);
  const at = view.from + (px - NAMES_WIDTH) / scale;
  const node = Math.floor((py + view.top - RULER) / ROW_HEIGHT);
  const slack = 4 / scale;
  let best: number | undefined;
  for (let index = firstFrom(of.reach, at - slack); index < of.begins.length; index++) {
    if (of.begins[index]! > at + slack) break;
    const row = of.steps.rows[index]!;
    if (row[1] === node && of.begins[index]! + of.longs[index]! >= at - slack) best = stepOf(row);
  }
  return best;
}

/** The position of a step, to scroll it into view. */
export function stepPosition(of: TimelineScene, step: number): { begin: number; long: number; node: number } | undefined {
  const index = rowOf(of.steps.rows, step);
  const row = of.steps.rows[index];
  if (!row || stepOf(row) !== step) return undefined;
  return { begin: of.begins[index]!, long: of.longs[index]!, node: row[1] };
}
