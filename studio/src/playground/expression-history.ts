// The expressions that were evaluated lately, in this browser.
import { readStored, store } from "../shell/stored";
import type { Language } from "./evaluation-request";

export type PastExpression = { language: Language; expression: string; at_ms: number };

const KEY = "tramline-expressions";
const KEPT_MAX = 20;

export function pastExpressions(): PastExpression[] {
  try {
    const found = JSON.parse(readStored(KEY) ?? "[]") as unknown;
    return Array.isArray(found) ? (found as PastExpression[]).filter((one) => typeof one?.expression === "string" && (one.language === "jsonata" || one.language === "jsonlogic")) : [];
  } catch {
    return [];
  }
}

/** Keeps an expression as the latest; the same one is kept once. */
export function keepExpression(one: PastExpression): PastExpression[] {
  const others = pastExpressions().filter((old) => old.expression !== one.expression || old.language !== one.language);
  const all = [one, ...others].slice(0, KEPT_MAX);
  store(KEY, JSON.stringify(all));
  return all;
}
