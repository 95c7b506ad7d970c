// The direction in which graphs are drawn: that of the document, unless the user chooses one.
import { useMemo, useSyncExternalStore } from "react";
import type { Graph } from "../api/types";
import { readStored, store } from "../shell/stored";

const KEY = "tramline-direction";
const listeners = new Set<() => void>();

function chosen(): string | null {
  return readStored(KEY);
}

export function setDirection(direction: Graph["direction"]): void {
  store(KEY, direction);
  for (const listener of listeners) listener();
}

/** The graph in the chosen direction. */
export function useDirected(graph: Graph): Graph {
  const direction = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosen);
  return useMemo(() => (direction === "TB" || direction === "LR" ? { ...graph, direction } : graph), [graph, direction]);
}
