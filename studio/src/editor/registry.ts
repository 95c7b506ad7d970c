// What documents can call, as the server knows it: asked for while somebody types, and remembered.
import { api } from "../api/client";
import type { Schema } from "../api/types";

type Found = { tools: { name: string; about?: string }[]; /** Whether there are more. */ cut: boolean };

/** So many are asked for at once. */
const TOOLS_MAX = 100;
/** What was asked is asked again after so long: servers come and go. */
const FRESH_MS = 30_000;

const remembered = new Map<string, { at: number; said: Promise<unknown> }>();

function kept<R>(key: string, ask: () => Promise<R>): Promise<R> {
  const known = remembered.get(key);
  if (known && Date.now() - known.at < FRESH_MS) return known.said as Promise<R>;
  const said = ask();
  remembered.set(key, { at: Date.now(), said });
  return said;
}

/** The tools whose names begin as typed, of one server where one is named. Nothing where nobody can be asked: the rest is still offered. */
export function callable(typed: string, server: string | undefined): Promise<Found> {
  const text = server === undefined ? typed : `${server}:${typed}`;
  return kept(`find ${text}`, async () => {
    try {
      const { tools, total } = await api.registry(text, TOOLS_MAX);
      return { tools: tools.map(({ name, description, title }) => ({ name, about: description ?? title })), cut: total > tools.length };
    } catch {
      return { tools: [], cut: true };
    }
  });
}

/** What a tool takes; nothing where nobody knows it. */
export function taken(name: string): Promise<Schema | undefined> {
  return kept(`one ${name}`, async () => {
    try {
      return (await api.callable(name)).input_schema;
    } catch {
      return undefined;
    }
  });
}
