// Loads data from the server and shows its loading, error and result states.
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { onToken } from "../api/token";

export type Loaded<T> = { value?: T; wrong?: Error; again: () => void; set: (value: T) => void };

/** Loads once, and again when a dependency changes or a token was entered. */
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
    // The request depends on `on` only.
  }, [...on, turn]);
  useEffect(() => onToken(again), [again]);
  return { ...state, again, set };
}

/** An error, with the server's message. */
export function ErrorMessage({ wrong, again }: { wrong: Error; again?: () => void }) {
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

/** Shows the result once it is loaded. */
export function LoadView<T>({ from, children }: { from: Loaded<T>; children: (value: T) => ReactNode }) {
  if (from.wrong && from.value === undefined) return <ErrorMessage wrong={from.wrong} again={from.again} />;
  if (from.value === undefined) return <p className="quiet">Loading…</p>;
  return <>{children(from.value)}</>;
}
