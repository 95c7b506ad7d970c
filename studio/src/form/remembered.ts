// Inputs that a workflow was started with, kept in this browser. Secrets are never among them.
import type { Json, Schema } from "../api/types";
import { discreet } from "./value";

export type Kept = { at_ms: number; input: Json };

/** So many are kept for each workflow, none larger than this, in letters. */
const KEPT_MAX = 10;
const LETTERS_MAX = 64_000;

const key = (tool: string) => `tramline-inputs:${tool}`;

/** Where inputs are kept; a browser's own storage, or another in tests. */
type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export function remembered(tool: string, shelf: Shelf = localStorage): Kept[] {
  try {
    const found = JSON.parse(shelf.getItem(key(tool)) ?? "[]") as unknown;
    return Array.isArray(found) ? (found as Kept[]).filter((one) => typeof one?.at_ms === "number").slice(0, KEPT_MAX) : [];
  } catch {
    return [];
  }
}

/** Keeps an input, the newest first, without what its schema marks as secret. */
export function remember(tool: string, input: Json, schema: Schema, at_ms: number, shelf: Shelf = localStorage): void {
  const kept = discreet(input, schema, schema);
  if (kept === undefined) return;
  const text = JSON.stringify(kept);
  if (text.length > LETTERS_MAX) return;
  const others = remembered(tool, shelf).filter((one) => JSON.stringify(one.input) !== text);
  const all = [{ at_ms, input: kept }, ...others].slice(0, KEPT_MAX);
  try {
    shelf.setItem(key(tool), JSON.stringify(all));
  } catch {
    // A full or closed storage remembers nothing; the run goes on.
  }
}

export function forgetAll(tool: string, shelf: Shelf = localStorage): void {
  shelf.removeItem(key(tool));
}
