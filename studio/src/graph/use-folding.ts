// Which groups of a graph are folded, with the state of a run moved to the nodes that stand for them.
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Graph, NodeStatus } from "../api/types";
import { readStored, store } from "../shell/stored";
import { fold, groupsOf, type Group } from "./groups";
import type { NodeTime } from "./node";
import type { NodeState } from "./view";

const KEY = "tramline-folded:";

/** Of the nodes of a group, the status that a reader has to know first. */
const WORST: NodeStatus[] = ["asking", "failed", "rejected", "stopped", "retrying", "starting", "running", "waiting", "succeeded", "skipped", "idle"];

export type Folding = {
  graph: Graph;
  groups: Map<string, Group>;
  folded: ReadonlySet<string>;
  states?: { [node: string]: NodeState };
  times?: { [node: string]: NodeTime };
  taken?: ReadonlySet<string>;
  toggle: (group: string) => void;
  foldAll: (on: boolean) => void;
};

type Given = { graph: Graph; selected?: string; states?: { [node: string]: NodeState }; times?: { [node: string]: NodeTime }; taken?: ReadonlySet<string> };

function stored(name: string): string[] {
  try {
    const found = JSON.parse(readStored(KEY + name) ?? "[]") as unknown;
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return [];
  }
}

export function useFolding({ graph, selected, states, times, taken }: Given): Folding {
  const shape = useMemo(() => JSON.stringify([graph.nodes.map((node) => [node.id, node.layer]), graph.edges.map((edge) => [edge.from, edge.to])]), [graph]);
  const groups = useMemo(() => groupsOf(graph), [shape]);
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set(stored(graph.name)));
  const change = useCallback(
    (next: Set<string>) => {
      setFolded(next);
      store(KEY + graph.name, JSON.stringify([...next]));
    },
    [graph.name],
  );
  const { graph: shown, shownAs } = useMemo(() => fold(graph, groups, folded), [graph, groups, folded]);
  // What is selected, here or elsewhere, is shown.
  useEffect(() => {
    if (selected === undefined || !shownAs.has(selected)) return;
    change(new Set([...folded].filter((id) => !groups.get(id)?.members.includes(selected))));
  }, [selected]);
  const toggle = useCallback(
    (group: string) => {
      const next = new Set(folded);
      if (!next.delete(group)) next.add(group);
      change(next);
    },
    [folded, change],
  );
  // What nearly everything follows from is not folded with the others: nothing would be left to see.
  const foldAll = useCallback(
    (on: boolean) => change(new Set(on ? [...groups.values()].filter((group) => group.members.length <= graph.nodes.length / 2).map((group) => group.id) : [])),
    [groups, graph.nodes.length, change],
  );
  const mapped = useMemo(() => {
    if (shownAs.size === 0) return { states, taken };
    const edges = taken && new Set([...taken].map((edge) => edge.split(">").map((id) => shownAs.get(id) ?? id).join(">")));
    if (!states) return { states, taken: edges };
    const all: { [node: string]: NodeState } = {};
    for (const [id, state] of Object.entries(states)) {
      const at = shownAs.get(id) ?? id;
      const before = all[at];
      all[at] = !before || WORST.indexOf(state.status) < WORST.indexOf(before.status) ? { status: state.status, visits: Math.max(1, before?.visits ?? 0) } : before;
    }
    return { states: all, taken: edges };
  }, [shownAs, states, taken]);
  return { graph: shown, groups, folded, ...mapped, times, toggle, foldAll };
}
