// Finds the lines of a node, and the node of a line. Works on the text alone,
// so that it stays correct between two checks.
/** First and last line, counted from 1. */
export type Extent = { from: number; to: number };

/** The lines of the element at a position: a YAML block by its indentation, a JSON object by its brackets, a Markdown section up to the next, a line of a flowchart. */
export function extent(lines: readonly string[], line: number, column: number, format = "yaml"): Extent | undefined {
  const first = lines[line - 1];
  if (first === undefined) return undefined;
  if (format === "sop") return { from: line, to: line };
  if (format === "markdown") return section(lines, line);
  const begins = [...first].slice(column - 1).join("");
  if (begins.startsWith("{") || begins.startsWith("[")) return bracketed(lines, line, first.length - begins.length);
  return indented(lines, line, first.length - begins.length);
}

function indented(lines: readonly string[], line: number, indent: number): Extent {
  let last = line;
  for (let at = line; at < lines.length; at++) {
    const text = lines[at] ?? "";
    if (text.trim() === "") continue;
    const deep = text.length - text.trimStart().length;
    if (deep < indent) break;
    // A comment before the next node belongs to that node.
    if (text.trimStart().startsWith("#") && deep === indent) continue;
    last = at + 1;
  }
  return { from: line, to: last };
}

function section(lines: readonly string[], line: number): Extent {
  let last = line;
  let fence: string | undefined;
  for (let at = line; at < lines.length; at++) {
    const text = lines[at] ?? "";
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1];
    if (fence === undefined && /^#{1,3}\s/.test(text)) break;
    if (mark !== undefined) fence = fence === undefined ? mark : mark.startsWith(fence) ? undefined : fence;
    if (text.trim() !== "") last = at + 1;
  }
  return { from: line, to: last };
}

function bracketed(lines: readonly string[], line: number, from: number): Extent {
  let depth = 0;
  let quoted = false;
  for (let at = line - 1; at < lines.length; at++) {
    const text = lines[at] ?? "";
    for (let place = at === line - 1 ? from : 0; place < text.length; place++) {
      const letter = text[place];
      if (letter === "\\" && quoted) place++;
      else if (letter === '"') quoted = !quoted;
      else if (quoted) continue;
      else if (letter === "{" || letter === "[") depth++;
      else if ((letter === "}" || letter === "]") && --depth === 0) return { from: line, to: at + 1 };
    }
  }
  return { from: line, to: line };
}

/** The node that a line belongs to, the innermost if there are several. */
export function nodeAt(all: { [node: string]: Extent }, line: number): string | undefined {
  const holds = Object.entries(all).filter(([, lies]) => lies.from <= line && line <= lies.to);
  holds.sort(([, a], [, b]) => a.to - a.from - (b.to - b.from));
  return holds[0]?.[0];
}
