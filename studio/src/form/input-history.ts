// Earlier inputs of a workflow, stored in this browser, without secrets.
import type { Json, Schema } from "../api/types";
import { withoutSecrets } from "./value";

export type StoredInput = { at_ms: number; input: Json };

/** Inputs per workflow, and the size of one in characters. */
const KEPT_MAX = 10;
const LETTERS_MAX = 64_000;

const key = (tool: string) => `tramline-inputs:${tool}`;

/** Where inputs are stored: the browser's storage, or a fake in tests. */
type InputStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export function storedInputs(tool: string, shelf: InputStorage = localStorage): StoredInput[] {
  try {
    const found = JSON.parse(shelf.getItem(key(tool)) ?? "[]") as unknown;
    return Array.isArray(found) ? (found as StoredInput[]).filter((one) => typeof one?.at_ms === "number").slice(0, KEPT_MAX) : [];
  } catch {
    return [];
  }
}

/** Stores an input, newest first, without the fields that its schema marks as secret. */
export function storeInput(tool: string, input: Json, schema: Schema, at_ms: number, shelf: InputStorage = localStorage): void {
  const kept = withoutSecrets(input, schema, schema);
  if (kept === undefined) return;
  const text = JSON.stringify(kept);
  if (text.length > LETTERS_MAX) return;
  const others = storedInputs(tool, shelf).filter((one) => JSON.stringify(one.input) !== text);
  const all = [{ at_ms, input: kept }, ...others].slice(0, KEPT_MAX);
  try {
    shelf.setItem(key(tool), JSON.stringify(all));
  } catch {
    // A full or unavailable storage is ignored; the run starts anyway.
  }
}

export function clearInputs(tool: string, shelf: InputStorage = localStorage): void {
  shelf.removeItem(key(tool));
}
