// Unsaved texts, kept in the browser until they are saved or discarded: navigation, reloads and crashes lose nothing.
import { useSyncExternalStore } from "react";
import { readStored, removeStored, store, storedKeys } from "../shell/stored";

const PREFIX = "tramline-draft:";

export type Draft = {
  /** The document, and its name for lists. */
  id: string;
  name: string;
  text: string;
  /** The text and hash of the file that the edits are based on. */
  base: string;
  hash: string;
  at_ms: number;
};

const listeners = new Set<() => void>();
let known: Draft[] | undefined;

function changed(): void {
  known = undefined;
  for (const listener of listeners) listener();
}

export function readDraft(id: string): Draft | undefined {
  try {
    const found = JSON.parse(readStored(PREFIX + id) ?? "null") as Draft | null;
    return found && typeof found.text === "string" && typeof found.base === "string" && typeof found.hash === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a draft. Returns whether it survives the page. */
export function keepDraft(draft: Draft): boolean {
  const kept = store(PREFIX + draft.id, JSON.stringify(draft));
  changed();
  return kept;
}

export function dropDraft(id: string): void {
  if (readStored(PREFIX + id) === null) return;
  removeStored(PREFIX + id);
  changed();
}

function allDrafts(): Draft[] {
  known ??= storedKeys(PREFIX)
    .map((key) => readDraft(key.slice(PREFIX.length)))
    .filter((draft) => draft !== undefined)
    .sort((a, b) => b.at_ms - a.at_ms);
  return known;
}

/** All unsaved texts, the latest first. */
export function useDrafts(): Draft[] {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    const other = () => changed();
    addEventListener("storage", other);
    return () => {
      listeners.delete(listener);
      removeEventListener("storage", other);
    };
  }, allDrafts);
}
