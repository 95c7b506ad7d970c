// A new node as its format writes it, whole enough to be drawn. Pure.
import type { Graph, Json } from "../api/types";

export type Ask = { label: string; hint: string };
type Kind = { ask?: Ask; made: (what: string, on: string) => { [field: string]: Json } };

const tool: Ask = { label: "Tool", hint: "server:tool" };
const expression: Ask = { label: "Expression", hint: "JSONata" };

/** The rule as JSON where it is some, else as text: an expression. */
function rule(what: string): Json {
  try {
    return JSON.parse(what) as Json;
  } catch {
    return what;
  }
}

function named(what: string): { server: string; tool: string } {
  const at = what.indexOf(":");
  return at < 0 ? { server: "builtin", tool: what } : { server: what.slice(0, at), tool: what.slice(at + 1) };
}

const words: Ask = { label: "Text", hint: "what it says" };
const said: Kind = { ask: words, made: (what) => ({ text: what }) };
/** A step written as Markdown is what a node of an IR is. */
const STEPS: { [kind: string]: Kind } = {
  call: { ask: { label: "Type", hint: "read-file" }, made: (what) => ({ type: what, params: {} }) },
  compute: { ask: expression, made: (what) => ({ type: "transform", params: { expr: what } }) },
};

const KINDS: { [format: string]: { [kind: string]: Kind } } = {
  yaml: {
    call: { ask: tool, made: (what) => ({ ...named(what), args: {} }) },
    compute: { ask: expression, made: (what) => ({ transform: { expr: what } }) },
    choose: { ask: { label: "Rule", hint: "JSON Logic or JSONata" }, made: (what, on) => ({ conditions: [{ rule: rule(what), next: on }] }) },
    wait: { ask: { label: "For", hint: "10s" }, made: (what) => ({ for: what }) },
    workflow: { ask: { label: "Workflow", hint: "its name" }, made: (what) => ({ workflow: what, args: {} }) },
    exit: { made: () => ({}) },
  },
  dag: {
    call: { ask: tool, made: (what) => ({ tool: what, arguments: {} }) },
    compute: { ask: expression, made: (what) => ({ expr: what }) },
  },
  ir: STEPS,
  markdown: STEPS,
  sop: { step: said, decision: said, end: said },
};

export function kindsOf(format: string): string[] {
  return Object.keys(KINDS[format] ?? {});
}

/** What a node of a kind cannot do without. */
export function askOf(format: string, kind: string): Ask | undefined {
  return KINDS[format]?.[kind]?.ask;
}

/** The node; a choice leads on to what came after the node that it is put behind. */
export function freshNode(format: string, kind: string, id: string, what: string, graph: Graph, after: string | undefined): { id: string; kind: string; [field: string]: Json } {
  const on = graph.edges.find((edge) => edge.from === after)?.to ?? graph.nodes.find((node) => node.kind === "exit")?.id ?? "";
  return { id, kind, ...(KINDS[format]?.[kind]?.made(what.trim(), on) ?? {}) };
}
