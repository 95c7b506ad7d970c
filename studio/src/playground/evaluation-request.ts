// The request for an expression and its data. Pure.
import type { Json } from "../api/types";
import type { DataChoice } from "./data";

export type Language = "jsonata" | "jsonlogic";
export type EvaluationRequest = { language: Language; expression: Json; data?: Json; run_id?: string; seq?: number };

/** The request, or why there is none yet. */
export function evaluationRequest(language: Language, expression: string, given: DataChoice): EvaluationRequest | { wrong: string } {
  if (expression.trim() === "") return { wrong: "" };
  const parsed = (text: string, what: string): { value: Json } | { wrong: string } => {
    try {
      return { value: JSON.parse(text) as Json };
    } catch (caught) {
      return { wrong: `${what} is not valid JSON: ${(caught as Error).message}` };
    }
  };
  let wanted: Json = expression;
  if (language === "jsonlogic") {
    const rule = parsed(expression, "the rule");
    if ("wrong" in rule) return rule;
    wanted = rule.value;
  }
  if (given.from === "run") {
    if (!given.run) return { wrong: "choose a run" };
    return { language, expression: wanted, run_id: given.run, ...(given.seq ? { seq: Number(given.seq) } : {}) };
  }
  const data = parsed(given.text.trim() === "" ? "null" : given.text, "the data");
  return "wrong" in data ? data : { language, expression: wanted, data: data.value };
}

/** The position of an error in an expression: line and column, from 1, from a character offset. */
export function lineAt(expression: string, position: number): { line: number; column: number } {
  const before = [...expression].slice(0, position).join("").split("\n");
  return { line: before.length, column: [...(before[before.length - 1] ?? "")].length + 1 };
}
