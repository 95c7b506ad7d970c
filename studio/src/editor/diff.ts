// Line diff of two texts. Pure.

export type Row = { kind: "same" | "gone" | "new"; text: string; /** Its line number on either side. */ left?: number; right?: number };

/** Larger texts, in pairs of lines, count as completely different between their common start and end. */
const PAIRS_MAX = 4_000_000;

export function lineDiff(left: string, right: string): Row[] {
  const a = left.split("\n");
  const b = right.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const rows: Row[] = [];
  const same = (at: number, to: number) => rows.push({ kind: "same", text: a[at] ?? "", left: at + 1, right: to + 1 });
  for (let at = 0; at < head; at++) same(at, at);
  rows.push(...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), head));
  for (let at = tail; at > 0; at--) same(a.length - at, b.length - at);
  return rows;
}

/** The longest common subsequence of lines, by dynamic programming. */
function middle(a: string[], b: string[], head: number): Row[] {
  const rows: Row[] = [];
  const gone = (at: number) => rows.push({ kind: "gone", text: a[at] ?? "", left: head + at + 1 });
  const fresh = (at: number) => rows.push({ kind: "new", text: b[at] ?? "", right: head + at + 1 });
  if (a.length * b.length > PAIRS_MAX) {
    a.forEach((_, at) => gone(at));
    b.forEach((_, at) => fresh(at));
    return rows;
  }
  const wide = b.length + 1;
  const best = new Uint32Array((a.length + 1) * wide);
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      best[x * wide + y] = a[x] === b[y] ? best[(x + 1) * wide + y + 1]! + 1 : Math.max(best[(x + 1) * wide + y]!, best[x * wide + y + 1]!);
    }
  }
  let [x, y] = [0, 0];
  while (x < a.length || y < b.length) {
    if (x < a.length && y < b.length && a[x] === b[y]) {
      rows.push({ kind: "same", text: a[x] ?? "", left: head + ++x, right: head + ++y });
    } else if (y >= b.length || (x < a.length && best[(x + 1) * wide + y]! >= best[x * wide + y + 1]!)) gone(x++);
    else fresh(y++);
  }
  return rows;
}

/** Only the changes, with a few lines of context; `undefined` stands for omitted lines. */
export function hunks(rows: Row[], around = 3): (Row | undefined)[] {
  const near = new Set<number>();
  rows.forEach((row, at) => {
    if (row.kind === "same") return;
    for (let place = at - around; place <= at + around; place++) near.add(place);
  });
  const shown: (Row | undefined)[] = [];
  rows.forEach((row, at) => {
    if (near.has(at)) shown.push(row);
    else if (shown.length === 0 || shown[shown.length - 1] !== undefined) shown.push(undefined);
  });
  return shown;
}
