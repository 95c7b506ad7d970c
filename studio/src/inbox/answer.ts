// What may be said to a question, and how that is sent. Pure.
import type { Json, Question } from "../api/types";

export type Draft = { why: string; by: string; output: string; budget: { [field: string]: string } };

export const WORDS: { [answer: string]: { word: string; means: string } } = {
  proceed: { word: "Proceed", means: "It is done as planned." },
  approve: { word: "Approve", means: "The call is made as it is shown." },
  reject: { word: "Reject", means: "The run ends as rejected; nothing further is done." },
  retry: { word: "Try again", means: "The call is made once more." },
  skip: { word: "Skip", means: "The call is not made; the output below is taken for its own." },
  extend: { word: "Allow more", means: "The budget grows by what is given below." },
};

/** The words for an answer: a yes to a call is an approval. */
export function words(answer: string, question: Question): { word: string; means: string } {
  const approves = answer === "proceed" && (question["kind"] === "approval" || question["kind"] === "effect");
  return WORDS[approves ? "approve" : answer] ?? { word: answer, means: "" };
}

/** What a budget counts, with its words. */
export const BUDGET: { [field: string]: string } = { calls: "calls", active_ms: "milliseconds at work", bytes: "bytes of journal", tokens: "tokens" };

export function draft(question: Question): Draft {
  const spent = typeof question["spent"] === "string" ? question["spent"] : undefined;
  const limit = typeof question["limit"] === "number" ? question["limit"] : undefined;
  const used = typeof question["used"] === "number" ? question["used"] : 0;
  const again = limit === undefined ? "" : String(Math.max(limit, used, 1));
  return { why: "", by: "", output: "null", budget: spent ? { [spent]: again } : {} };
}

export type Given = { answer: string; why?: string; by?: string; output?: Json; budget?: Json; arguments?: Json };

/** The answer as it is sent; what is no JSON or no number is said to be so. */
export function given(answer: string, from: Draft): Given | { wrong: string } {
  const said: Given = { answer, why: from.why.trim() || undefined, by: from.by.trim() || undefined };
  if (answer === "skip") {
    try {
      said.output = JSON.parse(from.output.trim() === "" ? "null" : from.output) as Json;
    } catch (caught) {
      return { wrong: `the output is no JSON: ${(caught as Error).message}` };
    }
  }
  if (answer === "extend") {
    const more: { [field: string]: Json } = {};
    for (const [field, typed] of Object.entries(from.budget)) {
      if (typed.trim() === "") continue;
      const number = Number(typed);
      if (!Number.isInteger(number) || number < 1) return { wrong: `${field} is to be a whole number above 0` };
      more[field] = number;
    }
    if (Object.keys(more).length) said.budget = more;
  }
  return said;
}
