// The minimal new node in each format. Pure.
import type { Graph, Json } from "../api/types";

export type FieldPrompt = { label: string; hint: string };
type NodeTemplate = { ask?: FieldPrompt; made: (what: string, on: string) => { [field: string]: Json } };

const tool: FieldPrompt = { label: "Tool", hint: "server:tool" };
const expression: FieldPrompt = { label: "Expression", hint: "JSONata" };

/** The rule as JSON if it parses, otherwise as text: an expression. */
function rule(what: string): Json {
  try {
    return JSON.parse(what) as Json;
  } catch {
    return what;
  }
}

function isNamed(what: string): { server: string; tool: string } {
  const at = what.indexOf(":");
  return at < 0 ? { server: "builtin", tool: what } : { server: what.slice(0, at), tool: what.slice(at + 1) };
}

const words: FieldPrompt = { label: "Text", hint: "text of the node" };
const said: NodeTemplate = { ask: words, made: (what) => ({ text: what }) };
/** The answer of a new question: one text. */
const answerSchema: Json = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };
/** A Markdown step has the form of an IR node. */
const STEPS: { [kind: string]: NodeTemplate } = {
  call: { ask: { label: "Type", hint: "read-file" }, made: (what) => ({ type: what, params: {} }) },
  compute: { ask: expression, made: (what) => ({ type: "transform", params: { expr: what } }) },
  ask: { ask: { label: "Message", hint: "What is your name?" }, made: (what) => ({ type: "ask", params: { message: what, schema: answerSchema } }) },
};

const KINDS: { [format: string]: { [kind: string]: NodeTemplate } } = {
  yaml: {
    call: { ask: tool, made: (what) => ({ ...isNamed(what), args: {} }) },
    compute: { ask: expression, made: (what) => ({ transform: { expr: what } }) },
    choose: { ask: { label: "Rule", hint: "JSON Logic or JSONata" }, made: (what, on) => ({ conditions: [{ rule: rule(what), next: on }] }) },
    wait: { ask: { label: "For", hint: "10s" }, made: (what) => ({ for: what }) },
    ask: { ask: { label: "Message", hint: "What is your name?" }, made: (what) => ({ message: what, schema: answerSchema }) },
    workflow: { ask: { label: "Workflow", hint: "name" }, made: (what) => ({ workflow: what, args: {} }) },
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

/** What a kind is shown as in the palette, and the required field that it starts with if it was dropped into the graph. */
export const PALETTE: { [kind: string]: { look: string; start?: string } } = {
  call: { look: "call" },
  compute: { look: "compute", start: "$" },
  choose: { look: "choose", start: "true" },
  wait: { look: "wait", start: "1s" },
  workflow: { look: "call" },
  exit: { look: "exit", start: "" },
  step: { look: "prompt", start: "What to do" },
  decision: { look: "decision", start: "Which way?" },
  end: { look: "terminal", start: "Done" },
};

/** A name that no node has yet. */
export function freeName(graph: Graph, kind: string): string {
  const names = new Set(graph.nodes.map((node) => node.id));
  for (let at = 1; ; at++) {
    const name = at === 1 ? kind : `${kind}_${at}`;
    if (!names.has(name)) return name;
  }
}

/** The required field of a node kind. */
export function promptOf(format: string, kind: string): FieldPrompt | undefined {
  return KINDS[format]?.[kind]?.ask;
}

/** The node; a `switch` continues to the successor of the node it is added after. */
export function newNode(format: string, kind: string, id: string, what: string, graph: Graph, after: string | undefined): { id: string; kind: string; [field: string]: Json } {
  const on = graph.edges.find((edge) => edge.from === after)?.to ?? graph.nodes.find((node) => node.kind === "exit")?.id ?? "";
  return { id, kind, ...(KINDS[format]?.[kind]?.made(what.trim(), on) ?? {}) };
}
