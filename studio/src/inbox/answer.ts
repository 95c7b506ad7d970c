// The possible answers to a question, and their requests. Pure.
import type { Json, Question } from "../api/types";

export type Draft = { why: string; by: string; output: string; budget: { [field: string]: string } };

export const WORDS: { [answer: string]: { word: string; means: string } } = {
  proceed: { word: "Proceed", means: "The run continues as planned." },
  approve: { word: "Approve", means: "The call is made exactly as shown." },
  reject: { word: "Reject", means: "The run ends as rejected; nothing else is done." },
  retry: { word: "Retry", means: "The call is made again." },
  skip: { word: "Skip", means: "The call is not made; the output below is used instead." },
  submit: { word: "Submit", means: "The run continues with the fields above." },
  decline: { word: "Decline", means: "The run continues where the document says, or ends as rejected." },
  cancel: { word: "Dismiss", means: "The run continues where the document says, or the question stays open." },
  extend: { word: "Extend budget", means: "The amounts below are added to the budget." },
};

/** The words for an answer: proceeding with a call is an approval. */
export function answerWords(answer: string, question: Question): { word: string; means: string } {
  const approves = answer === "proceed" && (question["kind"] === "approval" || question["kind"] === "effect");
  return WORDS[approves ? "approve" : answer] ?? { word: answer, means: "" };
}

/** What a budget counts, with its words. */
export const BUDGET: { [field: string]: string } = { calls: "calls", active_ms: "milliseconds of active time", bytes: "bytes of journal", tokens: "tokens" };

export function draft(question: Question): Draft {
  const spent = typeof question["spent"] === "string" ? question["spent"] : undefined;
  const limit = typeof question["limit"] === "number" ? question["limit"] : undefined;
  const used = typeof question["used"] === "number" ? question["used"] : 0;
  const again = limit === undefined ? "" : String(Math.max(limit, used, 1));
  return { why: "", by: "", output: "null", budget: spent ? { [spent]: again } : {} };
}

export type AnswerRequest = { answer: string; why?: string; by?: string; output?: Json; budget?: Json; arguments?: Json; content?: Json };

/** The answer as a request; invalid JSON or numbers are reported. */
export function answerRequest(answer: string, from: Draft): AnswerRequest | { wrong: string } {
  const said: AnswerRequest = { answer, why: from.why.trim() || undefined, by: from.by.trim() || undefined };
  if (answer === "skip") {
    try {
      said.output = JSON.parse(from.output.trim() === "" ? "null" : from.output) as Json;
    } catch (caught) {
      return { wrong: `the output is not valid JSON: ${(caught as Error).message}` };
    }
  }
  if (answer === "extend") {
    const more: { [field: string]: Json } = {};
    for (const [field, typed] of Object.entries(from.budget)) {
      if (typed.trim() === "") continue;
      const number = Number(typed);
      if (!Number.isInteger(number) || number < 1) return { wrong: `${field} must be an integer above 0` };
      more[field] = number;
    }
    if (Object.keys(more).length) said.budget = more;
  }
  return said;
}
