// Shows flaws: as markers in the text, as counts on nodes.
import type { Flaw } from "../api/types";

export type TextRange = { from: number; to: number; flaw: Flaw };

/** The part of a text document that is needed to find a position. */
export type Lines = { length: number; lines: number; line: (number: number) => { from: number; to: number; text: string } };

/** A position in a text from line and column, which count characters and start at 1. */
export function offset(text: Lines, line: number, column: number): number {
  const at = text.line(Math.min(Math.max(line, 1), text.lines));
  let place = at.from;
  let left = column - 1;
  for (const letter of at.text) {
    if (left-- <= 0) break;
    place += letter.length;
  }
  return place;
}

/** Where a flaw is marked. A flaw without a position is at the top; an empty range is extended to its word. */
export function flawRange(flaw: Flaw, text: Lines): TextRange {
  if (flaw.line < 1) return { from: 0, to: 0, flaw };
  const from = offset(text, flaw.line, flaw.column);
  const line = text.line(Math.min(flaw.line, text.lines));
  let to = flaw.end_line === undefined ? from : offset(text, flaw.end_line, flaw.end_column ?? 1);
  // A range over several lines is marked on its first line.
  if (to > line.to) to = line.to;
  if (to <= from) to = Math.min(line.to, from + (/^\S*/.exec(line.text.slice(from - line.from))?.[0].length ?? 0));
  return { from, to, flaw };
}

/** The number of flaws of each node of a workflow. */
export function countByNode(flaws: Flaw[], workflow: string | undefined): { [node: string]: number } {
  const counted: { [node: string]: number } = {};
  for (const flaw of flaws) {
    if (!flaw.node || (flaw.workflow !== undefined && workflow !== undefined && flaw.workflow !== workflow)) continue;
    counted[flaw.node] = (counted[flaw.node] ?? 0) + 1;
  }
  return counted;
}

/** Patches count characters; editors count UTF-16 code units. */
export function toCodeUnits(text: string, patches: { from: number; to: number; insert: string }[]): { from: number; to: number; insert: string }[] {
  const wanted = [...new Set(patches.flatMap((patch) => [patch.from, patch.to]))].sort((a, b) => a - b);
  const units = new Map<number, number>();
  let letters = 0;
  let place = 0;
  for (const letter of text) {
    while (wanted.length && wanted[0] === letters) units.set(wanted.shift()!, place);
    letters++;
    place += letter.length;
  }
  for (const late of wanted) units.set(late, place);
  return patches.map((patch) => ({ from: units.get(patch.from) ?? place, to: units.get(patch.to) ?? place, insert: patch.insert }));
}
