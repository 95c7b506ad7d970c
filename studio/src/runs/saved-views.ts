// Filters that were kept under a name, in this browser.
import { useSyncExternalStore } from "react";
import { readStored, store } from "../shell/stored";

const KEY = "tramline-run-views";
/** The oldest views beyond this are dropped. */
const VIEWS_MAX = 20;

export type SavedView = { name: string; search: string };

const listeners = new Set<() => void>();
let known: SavedView[] | undefined;

function read(): SavedView[] {
  if (known) return known;
  try {
    const found = JSON.parse(readStored(KEY) ?? "[]") as unknown;
    known = Array.isArray(found) ? (found as SavedView[]).filter((one) => typeof one?.name === "string" && typeof one?.search === "string") : [];
  } catch {
    known = [];
  }
  return known;
}

function write(views: SavedView[]): void {
  known = views.slice(-VIEWS_MAX);
  store(KEY, JSON.stringify(known));
  for (const listener of listeners) listener();
}

/** A view with the same name is replaced. */
export function saveView(view: SavedView): void {
  write([...read().filter((one) => one.name !== view.name), view]);
}

export function removeView(name: string): void {
  write(read().filter((one) => one.name !== name));
}

export function useViews(): SavedView[] {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}
