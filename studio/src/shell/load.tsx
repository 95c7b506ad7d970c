// Asking the server and showing that it is asked, what it said, or what went wrong.
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { onToken } from "../api/token";

export type Loaded<T> = { value?: T; wrong?: Error; again: () => void; set: (value: T) => void };

/** Asks once, and again when what it depends on changes or a token was given. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; wrong?: Error }>({});
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((now) => now + 1), []);
  const set = useCallback((value: T) => setState({ value }), []);
  useEffect(() => {
    const stop = new AbortController();
    ask(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value }),
      (wrong: Error) => !stop.signal.aborted && setState((before) => ({ ...before, wrong })),
    );
    return () => stop.abort();
    // What is asked follows from `on`.
  }, [...on, turn]);
  useEffect(() => onToken(again), [again]);
  return { ...state, again, set };
}

/** What went wrong, in the server's words. */
export function Trouble({ wrong, again }: { wrong: Error; again?: () => void }) {
  return (
    <div className="trouble" role="alert">
      <p>{wrong.message}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shows what was loaded once it is there. */
export function Show<T>({ from, children }: { from: Loaded<T>; children: (value: T) => ReactNode }) {
  if (from.wrong && from.value === undefined) return <Trouble wrong={from.wrong} again={from.again} />;
  if (from.value === undefined) return <p className="quiet">Loading…</p>;
  return <>{children(from.value)}</>;
}
