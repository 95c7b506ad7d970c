// One function for each request of the API. What goes wrong is a `Wrong` with the API's own words.
import type * as T from "./types";
import { forget, token } from "./token";

/** A reply that says what went wrong. */
export class Wrong extends Error {
  constructor(readonly code: number, readonly kind: string, message: string) {
    super(message);
  }
}

type Query = { [name: string]: string | number | undefined | null };

const enc = encodeURIComponent;

export function headers(known = token()): Record<string, string> {
  return known ? { authorization: `Bearer ${known}` } : {};
}

/** Turns a reply that is no success into a `Wrong`; a missing token is asked for. */
export async function refuse(reply: Response, used: string | null): Promise<never> {
  const text = await reply.text();
  let said: { kind?: string; message?: string } = {};
  try {
    said = (JSON.parse(text) as { error?: typeof said }).error ?? {};
  } catch {
    said = { message: text };
  }
  if (reply.status === 401) forget(used);
  throw new Wrong(reply.status, said.kind ?? "refused", said.message || `the server said ${reply.status}`);
}

async function ask<R>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<R> {
  const used = token();
  const init: RequestInit = { method, headers: headers(used), signal };
  if (body !== undefined) {
    init.headers = { ...headers(used), "content-type": "application/json" };
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const reply = await fetch(path, init);
  if (!reply.ok) await refuse(reply, used);
  return (await reply.json()) as R;
}

/** A reply as it stands, for what is handed on as a file. */
async function text(path: string): Promise<string> {
  const used = token();
  const reply = await fetch(path, { headers: headers(used) });
  if (!reply.ok) await refuse(reply, used);
  return reply.text();
}

function query(given: Query): string {
  const pairs = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? "?" + pairs.map(([name, value]) => `${name}=${enc(String(value))}`).join("&") : "";
}

const run = (id: string) => `/api/runs/${enc(id)}`;

export const api = {
  about: () => ask<T.About>("GET", "/api/about"),
  tools: () => ask<{ tools: T.Tool[] }>("GET", "/api/tools"),
  start: (tool: string, given: { input: T.Json; breakpoints?: T.Breakpoint[]; pause_at_start?: boolean; session_id?: string }) =>
    ask<{ run_id: string }>("POST", `/api/tools/${enc(tool)}/runs`, given),

  registry: (text: string, most: number) => ask<{ tools: T.CallableRow[]; total: number }>("GET", "/api/registry" + query({ text, most })),
  callable: (name: string) => ask<T.CallableRow & { input_schema: T.Schema }>("GET", `/api/registry/${enc(name)}`),

  documents: () => ask<{ documents: T.DocumentRow[] }>("GET", "/api/documents"),
  document: (id: string) => ask<T.DocumentText>("GET", `/api/documents/${enc(id)}`),
  save: (id: string, text: string, hash: string) => ask<{ hash: string }>("PUT", `/api/documents/${enc(id)}`, { text, hash }),
  check: (given: { text: string; format?: string; name?: string }, signal?: AbortSignal) =>
    ask<T.Checked>("POST", "/api/check", given, signal),
  edit: (given: { text: string; format?: string; workflow?: string; edits: T.Edit[] }) => ask<T.Edited>("POST", "/api/edit", given),
  render: (given: { text: string; workflow?: string; as: "svg" | "mermaid" | "dot" }) => ask<{ text: string }>("POST", "/api/render", given),
  schema: (format: string) => ask<T.Schema>("GET", `/api/schemas/${enc(format)}`),
  evaluate: (given: { language: "jsonata" | "jsonlogic"; expression: T.Json; data?: T.Json; run_id?: string; seq?: number }, signal?: AbortSignal) =>
    ask<T.Evaluated>("POST", "/api/eval", given, signal),

  runs: (given: Query) => ask<{ runs: T.RunRow[]; next?: string | null }>("GET", "/api/runs" + query(given)),
  run: (id: string, signal?: AbortSignal) => ask<T.Run>("GET", run(id), undefined, signal),
  graph: (id: string, seq?: number) => ask<T.Graph>("GET", `${run(id)}/graph${query({ seq })}`),
  timeline: (id: string, after?: number, most = 5000, signal?: AbortSignal) =>
    ask<T.Timeline>("GET", `${run(id)}/timeline${query({ after, most })}`, undefined, signal),
  step: (id: string, step: number, signal?: AbortSignal) => ask<T.StepView>("GET", `${run(id)}/steps/${step}`, undefined, signal),
  at: (id: string, seq: number, signal?: AbortSignal) => ask<T.At>("GET", `${run(id)}/at/${seq}`, undefined, signal),
  abort: (id: string, why?: string) => ask<T.Run>("POST", `${run(id)}/abort`, { why }),
  pause: (id: string) => ask<T.Json>("POST", `${run(id)}/pause`, {}),
  goOn: (id: string) => ask<T.Json>("POST", `${run(id)}/continue`, {}),
  stepOn: (id: string) => ask<T.Json>("POST", `${run(id)}/step`, {}),
  watch: (id: string, breakpoints: T.Breakpoint[]) => ask<T.Json>("PUT", `${run(id)}/breakpoints`, { breakpoints }),
  fork: (id: string, given: { step: number; output?: T.Json; input?: T.Json }) => ask<{ run_id: string }>("POST", `${run(id)}/fork`, given),
  compare: (left: string, right: string) => ask<T.Compared>("GET", "/api/compare" + query({ left, right })),
  walk: (id: string) => ask<T.Walk>("GET", `${run(id)}/walk`),
  amendments: (id: string) => ask<T.Amendments>("GET", `${run(id)}/amendments`),
  exported: (id: string) => text(`${run(id)}/export`),
  imported: (file: string) => ask<{ run_id: string; status: string }>("POST", "/api/runs/import", file),

  approvals: () => ask<{ approvals: T.Question[]; more: boolean }>("GET", "/api/approvals"),
  approval: (checkpoint: string) => ask<T.Question>("GET", `/api/approvals/${enc(checkpoint)}`),
  answer: (checkpoint: string, given: { answer: string; why?: string; by?: string; output?: T.Json; budget?: T.Json; arguments?: T.Json }) =>
    ask<T.Run>("POST", `/api/approvals/${enc(checkpoint)}`, given),
};
