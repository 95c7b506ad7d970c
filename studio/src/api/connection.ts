// Whether the server can be reached. While it cannot, it is asked again and again; when it is back, listeners reload.
import { useSyncExternalStore } from "react";

/** How often a server that went away is asked. */
const EVERY_MS = 1_000;

export type Connection = { up: boolean; /** Since when it cannot be reached. */ lost_ms?: number };

let now: Connection = { up: true };
const listeners = new Set<() => void>();
const returned = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function set(next: Connection): void {
  now = next;
  for (const listener of listeners) listener();
}

/** Like `fetch`, and notes whether the server answered at all. */
export async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    const reply = await fetch(path, init);
    found();
    return reply;
  } catch (caught) {
    if (!init.signal?.aborted) lose();
    throw unreachable(caught);
  }
}

function unreachable(caught: unknown): Error {
  if (caught instanceof Error && caught.name === "AbortError") return caught;
  return new Error("The server cannot be reached.", { cause: caught });
}

function lose(): void {
  if (!now.up) return;
  set({ up: false, lost_ms: Date.now() });
  timer ??= setInterval(() => void fetch("/api/about").then(found, () => {}), EVERY_MS);
}

function found(): void {
  if (now.up) return;
  clearInterval(timer);
  timer = undefined;
  set({ up: true });
  for (const listener of [...returned]) listener();
}

/** Calls `listener` when the server is back. */
export function onReturn(listener: () => void): () => void {
  returned.add(listener);
  return () => returned.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => now,
  );
}
