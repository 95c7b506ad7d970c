// Times that move: clocks, elapsed time, "3 min ago". One timer serves all of them.
import { useEffect, useState } from "react";
import { ago, clock, moment } from "../shell/format";

const listeners = new Map<number, Set<() => void>>();
const timers = new Map<number, ReturnType<typeof setInterval>>();

function listen(every_ms: number, listener: () => void): () => void {
  const all = listeners.get(every_ms) ?? new Set();
  listeners.set(every_ms, all);
  all.add(listener);
  if (!timers.has(every_ms)) timers.set(every_ms, setInterval(() => !document.hidden && all.forEach((one) => one()), every_ms));
  return () => {
    all.delete(listener);
    if (all.size > 0) return;
    clearInterval(timers.get(every_ms));
    timers.delete(every_ms);
  };
}

/** The current time, updated every `every_ms`; it stands still if `every_ms` is undefined. */
export function useNow(every_ms: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (every_ms === undefined) return;
    setNow(Date.now());
    return listen(every_ms, () => setNow(Date.now()));
  }, [every_ms]);
  return now;
}

/** The time since a moment, as `0:41` or `3:12:09`; it ticks. */
export function Elapsed({ since_ms }: { since_ms: number }) {
  const now = useNow(1_000);
  return (
    <time className="clock" data-testid="elapsed">
      {clock(now - since_ms)}
    </time>
  );
}

/** How long ago something was; the exact time is in its title. */
export function Ago({ ms }: { ms: number }) {
  const now = useNow(10_000);
  return (
    <time dateTime={new Date(ms).toISOString()} title={moment(ms)}>
      {ago(now - ms)}
    </time>
  );
}
