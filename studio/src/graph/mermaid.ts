// A graph as Mermaid text. Pure.
import type { Graph, GraphNode } from "../api/types";

const quoted = (text: string) => `"${text.replace(/&/g, "&amp;").replace(/"/g, "#quot;").replace(/\n/g, "<br>")}"`;

function shape(node: GraphNode): string {
  const label = quoted(node.label);
  switch (node.kind) {
    case "entry":
    case "exit":
    case "terminal":
      return `([${label}])`;
    case "choose":
      return `{{${label}}}`;
    case "decision":
      return `{${label}}`;
    case "compute":
      return `[/${label}/]`;
    case "hub":
      return `((${label}))`;
    case "wait":
      return `>${label}]`;
    case "prompt":
    case "call":
      return `[${label}]`;
  }
  return `[${label}]`;
}

/** Nodes are numbered, so that ids contain no Mermaid keywords or special characters. */
export function mermaid(graph: Graph): string {
  const ids = new Map(graph.nodes.map((node, index) => [node.id, /^(?!(?:end|graph|flowchart|subgraph|class|click|style)$)[A-Za-z]\w*$/i.test(node.id) ? node.id : `n${index}`]));
  const nodes = graph.nodes.map((node) => `  ${ids.get(node.id)}${shape(node)}`);
  const edges = graph.edges
    .filter((edge) => ids.has(edge.from) && ids.has(edge.to))
    .map((edge) => {
      const arrow = edge.kind === "error" ? "-.->" : "-->";
      return `  ${ids.get(edge.from)} ${arrow}${edge.label ? `|${quoted(edge.label)}|` : ""} ${ids.get(edge.to)}`;
    });
  return [`flowchart ${graph.direction}`, ...nodes, ...edges, ""].join("\n");
}
