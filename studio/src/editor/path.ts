// Where in a document the cursor stands, told as a path of keys. From the text alone: while somebody
// types, a document is seldom whole.

export type Place = {
  /** Keys that lead to the object or list around the cursor; `*` stands for a place in a list. */
  path: string[];
  /** The key whose value is being typed; none where a key is. */
  key?: string;
  /** Other keys of the same object with what stands after them. */
  beside: { [key: string]: string };
};

type Frame = { indent: number; name: string; members: { [key: string]: string } };
type Line = { items: number[]; indent: number; key?: string; value: string };

const PAIR = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"{}[\],:][^#]*?)\s*:(?:\s+(.*))?$/;

function readLine(text: string): Line | undefined {
  let indent = text.length - text.trimStart().length;
  let rest = text.slice(indent);
  const items: number[] = [];
  for (let dash = /^-(\s+|$)/.exec(rest); dash; dash = /^-(\s+|$)/.exec(rest)) {
    items.push(indent);
    indent += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  if (rest.startsWith("#") || (rest === "" && items.length === 0)) return undefined;
  const pair = PAIR.exec(rest);
  return pair ? { items, indent, key: unquoted(pair[1] ?? ""), value: unquoted((pair[2] ?? "").trim()) } : { items, indent, value: rest.trim() };
}

function unquoted(text: string): string {
  return /^(".*"|'.*')$/s.test(text) ? text.slice(1, -1) : text;
}

/** Where a place in YAML lies, by the indents of the lines above it. */
export function yamlPlace(lines: readonly string[], line: number, column: number): Place {
  const stack: Frame[] = [{ indent: -1, name: "", members: {} }];
  let block: number | undefined;
  for (let at = 1; at < line; at++) {
    const text = lines[at - 1] ?? "";
    const read = readLine(text);
    // What stands under `|` is text, whatever it looks like.
    if (block !== undefined && (text.trim() === "" || text.length - text.trimStart().length > block)) continue;
    block = undefined;
    if (!read) continue;
    enter(stack, read);
    if (/^[|>]/.test(read.value)) block = read.indent;
  }
  const typed = (lines[line - 1] ?? "").slice(0, column - 1);
  const own = readLine(typed) ?? { items: [], indent: column - 1, value: "" };
  enter(stack, { ...own, key: undefined });
  const beside = { ...top(stack).members };
  if (own.key !== undefined) delete beside[own.key];
  below(lines, line, own.indent, beside);
  return { path: stack.slice(1).map((frame) => frame.name), key: own.key, beside };
}

function top(stack: Frame[]): Frame {
  return stack[stack.length - 1]!;
}

/** Takes a line into account: what it closes, what it opens. */
function enter(stack: Frame[], line: Line): void {
  for (const indent of line.items) {
    // A list may stand under its key without a further indent.
    while (top(stack).indent > indent || (top(stack).indent === indent && top(stack).name === "*")) stack.pop();
    stack.push({ indent, name: "*", members: {} });
  }
  while (top(stack).indent >= line.indent) stack.pop();
  if (line.key === undefined) return;
  top(stack).members[line.key] = line.value;
  stack.push({ indent: line.indent, name: line.key, members: {} });
}

/** Keys of the same object that stand further below. */
function below(lines: readonly string[], line: number, indent: number, into: { [key: string]: string }): void {
  for (const text of lines.slice(line)) {
    const other = readLine(text);
    if (!other) continue;
    if ((other.items[0] ?? other.indent) < indent) return;
    if (other.indent === indent && other.items.length === 0 && other.key !== undefined) into[other.key] = other.value;
  }
}

type Open = { list: boolean; key?: string; /** Whether the value of the key is next. */ valued: boolean; members: { [key: string]: string } };

/** Where a place in JSON lies, by the brackets before it. */
export function jsonPlace(text: string, position: number): Place {
  const open: Open[] = [];
  let last: Open | undefined;
  let path: string[] | undefined;
  let key: string | undefined;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (path === undefined && index + token.length >= position && index < position && !/^[{}[\],:]$/.test(token)) ({ path, key, last } = here(open));
    if (path === undefined && index >= position) ({ path, key, last } = here(open));
    const now = open[open.length - 1];
    if (token === "{" || token === "[") open.push({ list: token === "[", valued: false, members: {} });
    else if (token === "}" || token === "]") {
      const closed = open.pop();
      if (path !== undefined && closed === last) break;
    } else if (token === ":" && now) now.valued = true;
    else if (token === "," && now) {
      now.valued = false;
      now.key = undefined;
    } else if (now && !now.list) {
      if (now.valued && now.key !== undefined) now.members[now.key] = unquoted(token);
      else now.key = unquoted(token);
    }
  }
  if (path === undefined) ({ path, key, last } = here(open));
  const beside = { ...(last?.members ?? {}) };
  if (key !== undefined) delete beside[key];
  return { path, key, beside };
}

function here(open: Open[]): { path: string[]; key?: string; last?: Open } {
  const last = open[open.length - 1];
  const path: string[] = [];
  for (const frame of open.slice(0, -1)) path.push(frame.list ? "*" : (frame.key ?? ""));
  if (last?.list) path.push("*");
  return { path, key: last && !last.list && last.valued ? last.key : undefined, last };
}
