// Loads data from the server and shows its loading, error and result states.
import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { onReturn, useConnection } from "../api/connection";
import { onToken } from "../api/token";
import { Icon } from "../ui/icon";
import { Skeleton } from "../ui/empty";

export type Loaded<T> = { value?: T; wrong?: Error; again: () => void; set: (value: T) => void };

/** Loads once, and again when a dependency changes or a token was entered. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; wrong?: Error }>({});
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((now) => now + 1), []);
  const set = useCallback((value: T) => setState({ value }), []);
  const loaded = useRef<readonly unknown[]>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    ask(stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return;
        loaded.current = on;
        setState({ value });
      },
      (wrong: Error) => {
        if (stop.signal.aborted) return;
        // The answer to another question is not shown as the answer to this one.
        const same = loaded.current?.every((one, at) => Object.is(one, on[at])) ?? false;
        setState((before) => (same ? { ...before, wrong } : { wrong }));
      },
    );
    return () => stop.abort();
    // The request depends on `on` only.
  }, [...on, turn]);
  useEffect(() => onToken(again), [again]);
  useEffect(() => onReturn(again), [again]);
  return { ...state, again, set };
}

/** An error, with the server's message. */
export function ErrorMessage({ wrong, again }: { wrong: Error; again?: () => void }) {
  return (
    <div className="trouble" role="alert">
      <Icon name="warning" />
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
  const { up } = useConnection();
  if (from.wrong && from.value === undefined && !up) return <Skeleton />;
  if (from.wrong && from.value === undefined) return <ErrorMessage wrong={from.wrong} again={from.again} />;
  if (from.value === undefined) return <Skeleton />;
  return (
    <>
      {from.wrong && up && <ErrorMessage wrong={from.wrong} again={from.again} />}
      {children(from.value)}
    </>
  );
}
