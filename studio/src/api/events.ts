// Follows a run's events. `EventSource` cannot send a token, so the stream is parsed by hand.
import { headers, throwApiError } from "./client";
import { reach } from "./connection";
import { token } from "./token";
import type { RunEvent } from "./types";

/** Initial and maximum delay before a broken stream is reconnected. */
const WAIT_MS = 500;
const WAIT_MS_MAX = 10_000;

export type Follower = {
  onEvent: (event: RunEvent) => void;
  /** Called when the stream breaks or is reconnected. */
  onLink?: (live: boolean) => void;
  onWrong?: (wrong: Error) => void;
};

/** Splits a stream of server-sent events into the data of each; an incomplete event waits for more. */
export function splitEvents(text: string): { data: string[]; rest: string } {
  const parts = text.split(/\r?\n\r?\n/);
  const rest = parts.pop() ?? "";
  const data = parts.map((part) =>
    part
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).trimStart())
      .join("\n"),
  );
  return { data: data.filter((one) => one !== ""), rest };
}

/** Follows a run from `after` on until it is over or the returned function is called. */
export function follow(run: string, after: number, to: Follower): () => void {
  const stop = new AbortController();
  void loop(run, after, to, stop.signal);
  return () => stop.abort();
}

async function loop(run: string, after: number, to: Follower, signal: AbortSignal): Promise<void> {
  let seen = after;
  let wait = WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const event of read(run, seen, signal)) {
        if (wait !== WAIT_MS || seen === after) to.onLink?.(true);
        wait = WAIT_MS;
        seen = event.seq;
        to.onEvent(event);
        if (/^finished$/i.test(event.event)) return;
      }
    } catch (wrong) {
      if (signal.aborted) return;
      if (wrong instanceof Error && "code" in wrong) {
        to.onWrong?.(wrong);
        return;
      }
    }
    to.onLink?.(false);
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, WAIT_MS_MAX);
  }
}

async function* read(run: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent> {
  const path = `/api/runs/${encodeURIComponent(run)}/events?after=${after}`;
  const used = token();
  const reply = await reach(path, { headers: { ...headers(used), accept: "text/event-stream" }, signal });
  if (!reply.ok || !reply.body) await throwApiError(reply, used);
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const found = splitEvents(rest + value);
    rest = found.rest;
    for (const data of found.data) yield JSON.parse(data) as RunEvent;
  }
}
