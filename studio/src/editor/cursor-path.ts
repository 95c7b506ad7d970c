// Finds the position of the cursor in a document, as a path of keys. Works on the text alone: while you
// type, a document is rarely valid.

export type CursorPath = {
  /** Keys that lead to the object or list around the cursor; `*` stands for a list item. */
  path: string[];
  /** The key whose value is being typed; undefined while a key is typed. */
  key?: string;
  /** The other keys of the same object with their values. */
  beside: Members;
  /** For each key of the path, the members of the object that contains it. */
  around: Members[];
};

export type Members = { [key: string]: string };

type Frame = { indent: number; name: string; members: Members };
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

/** The position in YAML, by the indentation of the lines above. */
export function yamlPath(lines: readonly string[], line: number, column: number): CursorPath {
  const stack: Frame[] = [{ indent: -1, name: "", members: {} }];
  let block: number | undefined;
  for (let at = 1; at < line; at++) {
    const text = lines[at - 1] ?? "";
    const read = readLine(text);
    // Text below `|` is never parsed.
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
  const around = stack.slice(1).map((frame, at) => {
    const members = { ...stack[at]!.members };
    if (frame.name !== "*") below(lines, line, frame.indent, members);
    return members;
  });
  const place = { path: stack.slice(1).map((frame) => frame.name), key: own.key, beside, around };
  return inBrackets(place, lines[line - 1] ?? "", typed) ?? place;
}

/** The same inside open brackets of the line. */
function inBrackets(place: CursorPath, whole: string, typed: string): CursorPath | undefined {
  const start = typed.search(/[{[]/);
  if (start < 0 || !/^[\s-]*([^\s{[]+:\s*)?$/.test(typed.slice(0, start))) return undefined;
  const inner = jsonPath(whole.slice(start), typed.length - start);
  if (!inner.open) return undefined;
  const led = place.key === undefined ? { path: place.path, around: place.around } : { path: [...place.path, place.key], around: [...place.around, place.beside] };
  return { path: [...led.path, ...inner.path], around: [...led.around, ...inner.around], key: inner.key, beside: inner.beside };
}

function top(stack: Frame[]): Frame {
  return stack[stack.length - 1]!;
}

/** Processes a line: what it closes and what it opens. */
function enter(stack: Frame[], line: Line): void {
  for (const indent of line.items) {
    // A list may follow its key without further indentation.
    while (top(stack).indent > indent || (top(stack).indent === indent && top(stack).name === "*")) stack.pop();
    stack.push({ indent, name: "*", members: {} });
  }
  while (top(stack).indent >= line.indent) stack.pop();
  if (line.key === undefined) return;
  top(stack).members[line.key] = line.value;
  stack.push({ indent: line.indent, name: line.key, members: {} });
}

/** Keys of the same object below the cursor. */
function below(lines: readonly string[], line: number, indent: number, into: Members): void {
  for (const text of lines.slice(line)) {
    const other = readLine(text);
    if (!other) continue;
    if ((other.items[0] ?? other.indent) < indent) return;
    if (other.indent === indent && other.items.length === 0 && other.key !== undefined) into[other.key] = other.value;
  }
}

const HEADING = /^(#{1,3})\s+(.*?)\s*$/;

/** The position in a Markdown workflow, in terms of an IR: a parameter of the enclosing step. */
export function markdownPath(lines: readonly string[], line: number, column: number): CursorPath | undefined {
  const over = (at: number) => HEADING.exec(lines[at - 1] ?? "");
  let first = line;
  while (first > 0 && over(first)?.[1] === undefined) first--;
  let section = first;
  while (section > 0 && over(section)?.[1] !== "##") section--;
  if (over(first)?.[1] !== "###" || over(section)?.[2]?.toLowerCase() !== "steps") return undefined;
  const own = readLine((lines[line - 1] ?? "").slice(0, column - 1));
  if (!own || own.items.length !== 1 || own.items[0] !== 0) return undefined;
  const beside: Members = {};
  for (let at = first + 1; at <= lines.length && !over(at); at++) {
    const read = at === line ? undefined : readLine(lines[at - 1] ?? "");
    if (read?.key !== undefined && read.items.length === 1 && read.items[0] === 0) beside[read.key] = read.value;
  }
  return { path: ["nodes", "*"], key: own.key, beside, around: [{}, {}] };
}

type Open = { list: boolean; key?: string; /** Whether the value of the key comes next. */ valued: boolean; members: Members };

/** The position in JSON, by the brackets before it. */
export function jsonPath(text: string, position: number): CursorPath & { /** Whether a bracket is open there. */ open: boolean } {
  const open: Open[] = [];
  let last: Open | undefined;
  let path: string[] | undefined;
  let key: string | undefined;
  let around: Members[] = [];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (path === undefined && index + token.length >= position && index < position && !/^[{}[\],:]$/.test(token)) ({ path, key, last, around } = pathOf(open));
    if (path === undefined && index >= position) ({ path, key, last, around } = pathOf(open));
    const now = open[open.length - 1];
    if (token === "{" || token === "[") open.push({ list: token === "[", valued: false, members: {} });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":" && now) now.valued = true;
    else if (token === "," && now) {
      now.valued = false;
      now.key = undefined;
    } else if (now && !now.list) {
      if (now.valued && now.key !== undefined) now.members[now.key] = unquoted(token);
      else now.key = unquoted(token);
    }
  }
  if (path === undefined) ({ path, key, last, around } = pathOf(open));
  const beside = { ...(last?.members ?? {}) };
  if (key !== undefined) delete beside[key];
  return { path, key, beside, around, open: last !== undefined };
}

/** The position with these open brackets; members further below are added later. */
function pathOf(open: Open[]): { path: string[]; key?: string; last?: Open; around: Members[] } {
  const last = open[open.length - 1];
  const over = last?.list ? open : open.slice(0, -1);
  const path = over.map((frame) => (frame.list ? "*" : (frame.key ?? "")));
  return { path, key: last && !last.list && last.valued ? last.key : undefined, last, around: over.map((frame) => frame.members) };
}
