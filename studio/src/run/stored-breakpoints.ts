// What is kept per workflow in this browser: breakpoints, pinned outputs and watch expressions.
import { useMemo, useSyncExternalStore } from "react";
import type { Breakpoint } from "../api/types";
import { readStored, store } from "../shell/stored";

const BREAKPOINTS = "tramline-breakpoints:";

/** A stored list, without what is not of its type. */
export function storedList<T>(key: string, isOne: (one: unknown) => one is T): T[] {
  try {
    const found = JSON.parse(readStored(key) ?? "[]") as unknown;
    return Array.isArray(found) ? found.filter(isOne) : [];
  } catch {
    return [];
  }
}

/** The breakpoints that were last set for a workflow. */
export function storedBreakpoints(workflow: string): Breakpoint[] {
  return storedList(BREAKPOINTS + workflow, (one): one is Breakpoint => typeof (one as Breakpoint | null)?.node === "string");
}

export function storeBreakpoints(workflow: string, breakpoints: Breakpoint[]): void {
  store(BREAKPOINTS + workflow, JSON.stringify(breakpoints));
  for (const listener of listeners) listener();
}

const listeners = new Set<() => void>();

/** The breakpoints that were last set for a workflow, also once they change. */
export function useStoredBreakpoints(workflow: string): Breakpoint[] {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => readStored(BREAKPOINTS + workflow),
  );
  return useMemo(() => storedBreakpoints(workflow), [workflow, text]);
}

