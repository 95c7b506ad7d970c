// Three-way merge by lines: changes of one side are taken, changes of both at the same place are a conflict. Pure.
import { lineDiff } from "./diff";

export type Part =
  | { kind: "same"; lines: string[] }
  /** Only one side changed this. */
  | { kind: "taken"; from: "mine" | "theirs" | "both"; lines: string[]; base: string[] }
  | { kind: "conflict"; base: string[]; mine: string[]; theirs: string[] };

export type Choice = "mine" | "theirs" | "both";

/** For each line of the base: whether a side keeps it, and the lines it has before the line. */
type Changes = { keeps: boolean[]; before: string[][] };

function changes(base: string, side: string): Changes {
  const many = base.split("\n").length;
  const keeps = Array<boolean>(many).fill(true);
  const before = Array.from({ length: many + 1 }, (): string[] => []);
  let at = 0;
  for (const row of lineDiff(base, side)) {
    if (row.kind === "new") before[at]!.push(row.text);
    else {
      if (row.kind === "gone") keeps[at] = false;
      at++;
    }
  }
  return { keeps, before };
}

const equal = (a: string[], b: string[]) => a.length === b.length && a.every((line, at) => line === b[at]);

export function merge3(base: string, mine: string, theirs: string): Part[] {
  const lines = base.split("\n");
  const [left, right] = [changes(base, mine), changes(base, theirs)];
  const parts: Part[] = [];
  const push = (part: Part) => {
    const last = parts[parts.length - 1];
    if (part.kind === "same" && last?.kind === "same") last.lines.push(...part.lines);
    else parts.push(part);
  };
  const still = (at: number) => left.keeps[at] === true && right.keeps[at] === true && left.before[at]!.length === 0 && right.before[at]!.length === 0;
  for (let at = 0; at <= lines.length; ) {
    if (at < lines.length && still(at)) {
      push({ kind: "same", lines: [lines[at]!] });
      at++;
      continue;
    }
    if (at === lines.length && left.before[at]!.length === 0 && right.before[at]!.length === 0) break;
    // A stretch of the base that either side changes, up to the next line that both keep untouched.
    const from = at;
    const side = (of: Changes, to: number) => {
      const out = [...of.before[from]!];
      for (let line = from; line < to; line++) {
        if (of.keeps[line]) out.push(lines[line]!);
        if (line + 1 < to || to === lines.length) out.push(...of.before[line + 1]!);
      }
      return out;
    };
    // An insertion alone changes no line of the base.
    const touched = (line: number) => line < lines.length && !(left.keeps[line] && right.keeps[line]);
    while (touched(at)) at++;
    while (at > from && at < lines.length && (left.before[at]!.length > 0 || right.before[at]!.length > 0)) {
      at++;
      while (touched(at)) at++;
    }
    const end = at;
    const [own, other, old] = [side(left, end), side(right, end), lines.slice(from, end)];
    if (equal(own, other)) push({ kind: "taken", from: "both", lines: own, base: old });
    else if (equal(other, old)) push({ kind: "taken", from: "mine", lines: own, base: old });
    else if (equal(own, old)) push({ kind: "taken", from: "theirs", lines: other, base: old });
    else conflict(old, own, other, push);
    if (end === lines.length) break;
    if (end === from) {
      push({ kind: "same", lines: [lines[at]!] });
      at++;
    }
  }
  return parts;
}

/** A conflict without the lines that all three have at its start and at its end. */
function conflict(base: string[], mine: string[], theirs: string[], push: (part: Part) => void): void {
  const least = Math.min(base.length, mine.length, theirs.length);
  let head = 0;
  while (head < least && base[head] === mine[head] && base[head] === theirs[head]) head++;
  let tail = 0;
  const last = (lines: string[]) => lines[lines.length - 1 - tail];
  while (tail < least - head && last(base) === last(mine) && last(base) === last(theirs)) tail++;
  const middle = (lines: string[]) => lines.slice(head, lines.length - tail);
  if (head > 0) push({ kind: "same", lines: base.slice(0, head) });
  push({ kind: "conflict", base: middle(base), mine: middle(mine), theirs: middle(theirs) });
  if (tail > 0) push({ kind: "same", lines: base.slice(base.length - tail) });
}

export function conflictCount(parts: Part[]): number {
  return parts.filter((part) => part.kind === "conflict").length;
}

/** The merged text, or undefined while a conflict is undecided. Choices are by the position of the part. */
export function merged(parts: Part[], choices: { [part: number]: Choice }): string | undefined {
  const out: string[] = [];
  for (const [at, part] of parts.entries()) {
    if (part.kind !== "conflict") {
      out.push(...part.lines);
      continue;
    }
    const choice = choices[at];
    if (!choice) return undefined;
    if (choice !== "theirs") out.push(...part.mine);
    if (choice !== "mine") out.push(...part.theirs);
  }
  return out.join("\n");
}
