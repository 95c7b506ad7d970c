// One function per API request. A failed request throws a `ApiError` with the API's message.
import type { LayoutReply, LayoutRequest } from "../graph/layout-types";
import type * as T from "./types";
import { reach } from "./connection";
import { rejectToken, token } from "./token";

/** An error reply of the API. */
export class ApiError extends Error {
  constructor(readonly code: number, readonly kind: string, message: string) {
    super(message);
  }
}

type Query = { [name: string]: string | number | undefined | null };

const encodePart = encodeURIComponent;

export function headers(known = token()): Record<string, string> {
  return known ? { authorization: `Bearer ${known}` } : {};
}

/** Turns an error reply into a `ApiError`; a missing token opens the token prompt. */
export async function throwApiError(reply: Response, used: string | null): Promise<never> {
  const text = await reply.text();
  let said: { kind?: string; message?: string } = {};
  try {
    said = (JSON.parse(text) as { error?: typeof said }).error ?? {};
  } catch {
    said = { message: text };
  }
  if (reply.status === 401) rejectToken(used);
  throw new ApiError(reply.status, said.kind ?? "refused", said.message || `the server said ${reply.status}`);
}

async function request<R>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<R> {
  const used = token();
  const init: RequestInit = { method, headers: headers(used), signal };
  if (body !== undefined) {
    init.headers = { ...headers(used), "content-type": "application/json" };
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const reply = await reach(path, init);
  if (!reply.ok) await throwApiError(reply, used);
  return (await reply.json()) as R;
}

/** The raw reply, for downloads. */
async function text(path: string): Promise<string> {
  const used = token();
  const reply = await reach(path, { headers: headers(used) });
  if (!reply.ok) await throwApiError(reply, used);
  return reply.text();
}

function query(given: Query): string {
  const pairs = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? "?" + pairs.map(([name, value]) => `${name}=${encodePart(String(value))}`).join("&") : "";
}

const run = (id: string) => `/api/runs/${encodePart(id)}`;

export const api = {
  about: () => request<T.About>("GET", "/api/about"),
  tools: () => request<{ tools: T.Tool[] }>("GET", "/api/tools"),
  toolGraph: (tool: string) => request<T.Graph>("GET", `/api/tools/${encodePart(tool)}/graph`),
  start: (tool: string, given: { input: T.Json; breakpoints?: T.Breakpoint[]; pause_at_start?: boolean; session_id?: string }) =>
    request<{ run_id: string }>("POST", `/api/tools/${encodePart(tool)}/runs`, given),

  registry: (text: string, most: number) => request<{ tools: T.CallableRow[]; total: number }>("GET", "/api/registry" + query({ text, most })),
  callable: (name: string) => request<T.CallableRow & { input_schema: T.Schema }>("GET", `/api/registry/${encodePart(name)}`),

  documents: () => request<{ documents: T.DocumentRow[] }>("GET", "/api/documents"),
  document: (id: string) => request<T.DocumentText>("GET", `/api/documents/${encodePart(id)}`),
  save: (id: string, text: string, hash: string) => request<{ hash: string }>("PUT", `/api/documents/${encodePart(id)}`, { text, hash }),
  check: (given: { text: string; format?: string; name?: string }, signal?: AbortSignal) =>
    request<T.CheckResult>("POST", "/api/check", given, signal),
  edit: (given: { text: string; format?: string; workflow?: string; edits: T.Edit[] }) => request<T.EditResult>("POST", "/api/edit", given),
  render: (given: { text: string; workflow?: string; as: "svg" | "mermaid" | "dot" }) => request<{ text: string }>("POST", "/api/render", given),
  layout: (given: LayoutRequest) => request<LayoutReply>("POST", "/api/layout", given),
  versions: (tool: string) => request<{ versions: T.WorkflowVersion[]; more: boolean }>("GET", `/api/tools/${encodePart(tool)}/versions`),
  schema: (format: string) => request<T.Schema>("GET", `/api/schemas/${encodePart(format)}`),
  evaluate: (given: { language: "jsonata" | "jsonlogic"; expression: T.Json; data?: T.Json; run_id?: string; seq?: number }, signal?: AbortSignal) =>
    request<T.EvaluationResult>("POST", "/api/eval", given, signal),

  runs: (given: Query) => request<{ runs: T.RunRow[]; next?: string | null }>("GET", "/api/runs" + query(given)),
  run: (id: string, signal?: AbortSignal) => request<T.Run>("GET", run(id), undefined, signal),
  graph: (id: string, seq?: number) => request<T.Graph>("GET", `${run(id)}/graph${query({ seq })}`),
  timeline: (id: string, after?: number, most = 5000, signal?: AbortSignal) =>
    request<T.Timeline>("GET", `${run(id)}/timeline${query({ after, most })}`, undefined, signal),
  step: (id: string, step: number, signal?: AbortSignal) => request<T.StepView>("GET", `${run(id)}/steps/${step}`, undefined, signal),
  snapshot: (id: string, seq: number, signal?: AbortSignal) => request<T.RunSnapshot>("GET", `${run(id)}/at/${seq}`, undefined, signal),
  abort: (id: string, why?: string) => request<T.Run>("POST", `${run(id)}/abort`, { why }),
  pause: (id: string) => request<T.Json>("POST", `${run(id)}/pause`, {}),
  continueRun: (id: string) => request<T.Json>("POST", `${run(id)}/continue`, {}),
  stepRun: (id: string) => request<T.Json>("POST", `${run(id)}/step`, {}),
  setBreakpoints: (id: string, breakpoints: T.Breakpoint[]) => request<T.Json>("PUT", `${run(id)}/breakpoints`, { breakpoints }),
  fork: (id: string, given: { step: number; output?: T.Json } | { input: T.Json }) => request<{ run_id: string }>("POST", `${run(id)}/fork`, given),
  compare: (left: string, right: string) => request<T.Comparison>("GET", "/api/compare" + query({ left, right })),
  sopSession: (id: string) => request<T.SopSession>("GET", `${run(id)}/walk`),
  amendments: (id: string) => request<T.Amendments>("GET", `${run(id)}/amendments`),
  exportRun: (id: string) => text(`${run(id)}/export`),
  importRun: (file: string) => request<{ run_id: string; status: string }>("POST", "/api/runs/import", file),

  approvals: () => request<{ approvals: T.Question[]; more: boolean }>("GET", "/api/approvals"),
  approval: (checkpoint: string) => request<T.Question>("GET", `/api/approvals/${encodePart(checkpoint)}`),
  answer: (checkpoint: string, given: { answer: string; why?: string; by?: string; output?: T.Json; budget?: T.Json; arguments?: T.Json; content?: T.Json }) =>
    request<T.Run>("POST", `/api/approvals/${encodePart(checkpoint)}`, given),
};
