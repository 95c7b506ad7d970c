// Groups of a graph that can be folded: what follows only from one node, or, where everything is connected, a layer. Pure.
import type { Graph, GraphEdge, GraphNode } from "../api/types";

export type Group = {
  /** The node that stands for the group: its head, or a node made for it. */
  id: string;
  label: string;
  /** The nodes that disappear, without the head. */
  members: string[];
  /** Whether the node that stands for it is one of the graph. */
  headed: boolean;
};

/** Smaller groups are not worth a click. */
const MEMBERS_MIN = 2;
/** If more nodes than this are left with all groups folded, layers are folded instead. */
const LEFT_MAX = 60;

/** The groups of a graph by the node that stands for them. */
export function groupsOf(graph: Graph): Map<string, Group> {
  const branches = branchGroups(graph);
  const left = graph.nodes.length - hidden(branches);
  if (left <= LEFT_MAX || graph.nodes.length <= LEFT_MAX) return branches;
  return layerGroups(graph);
}

function hidden(groups: Map<string, Group>): number {
  return new Set([...groups.values()].flatMap((group) => group.members)).size;
}

/** A group for every node with at least a few others that can only be reached through it. */
function branchGroups(graph: Graph): Map<string, Group> {
  const above = dominators(graph);
  const members = new Map<string, string[]>();
  for (const { id } of graph.nodes) {
    for (let head = above.get(id); head !== undefined; head = above.get(head)) members.set(head, [...(members.get(head) ?? []), id]);
  }
  const groups = new Map<string, Group>();
  for (const { id, label } of graph.nodes) {
    const inside = members.get(id) ?? [];
    // What everything follows from is not a part of the graph.
    if (inside.length >= MEMBERS_MIN && inside.length < graph.nodes.length - 1 && above.get(id) !== undefined && isBranch(graph, id)) groups.set(id, { id, label, members: inside, headed: true });
  }
  return groups;
}

/** Whether a node is one of several ways, or where ways part: folding each node of a chain would be noise. */
function isBranch(graph: Graph, id: string): boolean {
  const ins = graph.edges.filter((edge) => edge.to === id && edge.from !== id);
  const parts = (from: string) => new Set(graph.edges.filter((edge) => edge.from === from && edge.to !== from).map((edge) => edge.to)).size > 1;
  return parts(id) || ins.some((edge) => parts(edge.from));
}

/** The nearest node through which every way to a node leads; none for a node at the start. */
export function dominators(graph: Graph): Map<string, string> {
  const outs = new Map<string, string[]>(graph.nodes.map((node) => [node.id, []]));
  const ins = new Map<string, string[]>(graph.nodes.map((node) => [node.id, []]));
  for (const { from, to } of graph.edges) {
    if (from === to || !outs.has(from) || !ins.has(to)) continue;
    outs.get(from)!.push(to);
    ins.get(to)!.push(from);
  }
  const starts = graph.nodes.filter((node) => node.kind === "entry" || ins.get(node.id)!.length === 0).map((node) => node.id);
  if (starts.length === 0 && graph.nodes[0]) starts.push(graph.nodes[0].id);
  const order = reversePostorder(starts, outs);
  const place = new Map(order.map((id, at) => [id, at]));
  // The root above all starts is -1.
  const idom = new Map<string, number>(starts.map((id) => [id, -1]));
  const meet = (a: number, b: number) => {
    while (a !== b) {
      if (a > b) a = idom.get(order[a]!) ?? -1;
      else b = idom.get(order[b]!) ?? -1;
    }
    return a;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const id of order) {
      if (starts.includes(id)) continue;
      const known = ins.get(id)!.filter((from) => idom.has(from));
      const next = known.map((from) => place.get(from)!).reduce(meet);
      if (idom.get(id) !== next) changed = (idom.set(id, next), true);
    }
  }
  return new Map([...idom].flatMap(([id, at]) => (at >= 0 ? [[id, order[at]!] as const] : [])));
}

function reversePostorder(starts: string[], outs: Map<string, string[]>): string[] {
  const seen = new Set<string>();
  const done: string[] = [];
  for (const start of starts) {
    const work: [string, number][] = seen.has(start) ? [] : [[start, 0]];
    seen.add(start);
    while (work.length) {
      const top = work[work.length - 1]!;
      const next = outs.get(top[0])![top[1]++];
      if (next === undefined) done.push(work.pop()![0]);
      else if (!seen.has(next)) work.push((seen.add(next), [next, 0]));
    }
  }
  return done.reverse();
}

/** A group for each layer of several nodes. */
function layerGroups(graph: Graph): Map<string, Group> {
  const layers = layersOf(graph);
  const inside = new Map<number, string[]>();
  for (const { id, kind } of graph.nodes) {
    if (kind === "entry" || kind === "exit") continue;
    inside.set(layers.get(id) ?? 0, [...(inside.get(layers.get(id) ?? 0) ?? []), id]);
  }
  return new Map([...inside].filter(([, members]) => members.length >= MEMBERS_MIN).map(([layer, members]) => [`layer:${layer}`, { id: `layer:${layer}`, label: `Layer ${layer}`, members, headed: false }]));
}

/** The layer of each node: its own, or the longest way to it. */
function layersOf(graph: Graph): Map<string, number> {
  const layers = new Map(graph.nodes.map((node) => [node.id, node.layer ?? 0]));
  if (graph.nodes.some((node) => node.layer !== undefined)) return layers;
  const waiting = new Map(graph.nodes.map((node) => [node.id, graph.edges.filter((edge) => edge.to === node.id && edge.from !== node.id).length]));
  const outs = new Map<string, GraphEdge[]>();
  for (const edge of graph.edges) outs.set(edge.from, [...(outs.get(edge.from) ?? []), edge]);
  const ready = graph.nodes.filter((node) => waiting.get(node.id) === 0).map((node) => node.id);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const { to } of outs.get(id) ?? []) {
      layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(id) ?? 0) + 1));
      waiting.set(to, (waiting.get(to) ?? 1) - 1);
      if (waiting.get(to) === 0) ready.push(to);
    }
  }
  return layers;
}

export type Folded = {
  graph: Graph;
  /** The node that is drawn for each hidden one. */
  shownAs: Map<string, string>;
};

/** The graph with some groups folded. Edges of hidden nodes start and end at their groups. */
export function fold(graph: Graph, groups: Map<string, Group>, folded: ReadonlySet<string>): Folded {
  const chosen = [...groups.values()].filter((group) => folded.has(group.id)).sort((a, b) => b.members.length - a.members.length);
  const shownAs = new Map<string, string>();
  // The largest group comes first: what it hides needs no group of its own.
  for (const group of chosen) {
    if (group.headed && shownAs.has(group.id)) continue;
    for (const id of group.members) if (!shownAs.has(id)) shownAs.set(id, group.id);
  }
  if (shownAs.size === 0) return { graph, shownAs };
  const made: GraphNode[] = chosen
    .filter((group) => !group.headed)
    .map((group) => ({ id: group.id, kind: "hub", label: group.label, detail: `${group.members.length} nodes`, notes: [], layer: graph.nodes.find((node) => node.id === group.members[0])?.layer }));
  const nodes = [...graph.nodes.filter((node) => !shownAs.has(node.id)), ...made];
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const [from, to] = [shownAs.get(edge.from) ?? edge.from, shownAs.get(edge.to) ?? edge.to];
    const same = from === edge.from && to === edge.to;
    if (!same && from === to) continue;
    const key = same ? edge.id : `${from}>${to}`;
    if (!edges.has(key)) edges.set(key, same ? edge : { id: key, from, to, kind: "default" });
  }
  return { graph: { ...graph, nodes, edges: [...edges.values()] }, shownAs };
}
