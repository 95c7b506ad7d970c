// What documents can call, from the server's registry: queried while you type, and cached.
import { api } from "../api/client";
import type { Schema } from "../api/types";

type ToolMatches = { tools: { name: string; about?: string }[]; /** Whether there are more. */ cut: boolean };

/** The number of results per query. */
const TOOLS_MAX = 100;
/** How long results are cached: servers come and go. */
const FRESH_MS = 30_000;

const cache = new Map<string, { at: number; said: Promise<unknown> }>();

function cached<R>(key: string, ask: () => Promise<R>): Promise<R> {
  const known = cache.get(key);
  if (known && Date.now() - known.at < FRESH_MS) return known.said as Promise<R>;
  const said = ask();
  cache.set(key, { at: Date.now(), said });
  return said;
}

/** The tools whose names start with the text, of one server if it is named. Empty if the query fails: other completions are still offered. */
export function findTools(typed: string, server: string | undefined): Promise<ToolMatches> {
  const text = server === undefined ? typed : `${server}:${typed}`;
  return cached(`find ${text}`, async () => {
    try {
      const { tools, total } = await api.registry(text, TOOLS_MAX);
      return { tools: tools.map(({ name, description, title }) => ({ name, about: description ?? title })), cut: total > tools.length };
    } catch {
      return { tools: [], cut: true };
    }
  });
}

/** The input schema of a tool; undefined if it is unknown. */
export function toolInputSchema(name: string): Promise<Schema | undefined> {
  return cached(`one ${name}`, async () => {
    try {
      return (await api.callable(name)).input_schema;
    } catch {
      return undefined;
    }
  });
}
