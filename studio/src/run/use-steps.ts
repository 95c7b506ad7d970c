// The steps of a run, loaded page by page and updated while it runs.
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { addPage, noSteps, settledStep, type Steps } from "./steps";

/** Each request makes the server scan the whole journal, so few large pages are fetched. */
const PAGE = 100_000;
/** How often new steps are fetched at most, and for which share of the time. */
const EVERY_MS = 300;
const REST = 4;

type Loader = { wanted: number; wake: () => void };

/** Loads the requested steps, waits for the next request, and repeats until it is stopped. */
async function load(run: string, loader: Loader, signal: AbortSignal, show: (steps: Steps) => void): Promise<void> {
  let known = noSteps;
  let upTo = 0;
  let shown = 0;
  while (!signal.aborted) {
    if (upTo >= loader.wanted) await new Promise<void>((done) => (loader.wake = done));
    upTo = loader.wanted;
    const begun = performance.now();
    let after: number | null | undefined = settledStep(known.rows);
    while (typeof after === "number" && !signal.aborted) {
      const page = await api.timeline(run, after, PAGE, signal);
      known = addPage(known, page);
      after = page.next;
      if (typeof after !== "number" || performance.now() - shown > EVERY_MS) {
        show(known);
        shown = performance.now();
      }
    }
    await new Promise((done) => setTimeout(done, Math.max(EVERY_MS, REST * (performance.now() - begun))));
  }
}

/** All known steps of a run; they grow with `seq`, the length of its journal. */
export function useSteps(run: string, seq: number): Steps {
  const [steps, setSteps] = useState(noSteps);
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
