// The steps of a run, loaded page by page and kept up with while it goes on.
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { add, none, settled, type Steps } from "./steps";

/** Each answer costs the server a look through the whole journal, so few large ones are asked for. */
const PAGE = 100_000;
/** New steps are asked for at most so often, and never for more than a part of the time. */
const EVERY_MS = 300;
const REST = 4;

type Loader = { wanted: number; wake: () => void };

/** Loads what is wanted, waits until more is, and so on until it is stopped. */
async function load(run: string, loader: Loader, signal: AbortSignal, show: (steps: Steps) => void): Promise<void> {
  let known = none;
  let upTo = 0;
  let shown = 0;
  while (!signal.aborted) {
    if (upTo >= loader.wanted) await new Promise<void>((done) => (loader.wake = done));
    upTo = loader.wanted;
    const begun = performance.now();
    let after: number | null | undefined = settled(known.rows);
    while (typeof after === "number" && !signal.aborted) {
      const page = await api.timeline(run, after, PAGE, signal);
      known = add(known, page);
      after = page.next;
      if (typeof after !== "number" || performance.now() - shown > EVERY_MS) {
        show(known);
        shown = performance.now();
      }
    }
    await new Promise((done) => setTimeout(done, Math.max(EVERY_MS, REST * (performance.now() - begun))));
  }
}

/** All steps known of a run; they grow with `seq`, the place its journal has come to. */
export function useSteps(run: string, seq: number): Steps {
  const [steps, setSteps] = useState(none);
  const loader = useRef<Loader>({ wanted: 0, wake: () => {} });
  useEffect(() => {
    const stop = new AbortController();
    const mine: Loader = { wanted: loader.current.wanted, wake: () => {} };
    loader.current = mine;
    load(run, mine, stop.signal, (known) => !stop.signal.aborted && setSteps(known)).catch(
      (wrong: Error) => !stop.signal.aborted && console.error(wrong.message),
    );
    return () => {
      stop.abort();
      mine.wake();
    };
  }, [run]);
  useEffect(() => {
    loader.current.wanted = seq;
    if (seq > 0) loader.current.wake();
  }, [seq]);
  return steps;
}
