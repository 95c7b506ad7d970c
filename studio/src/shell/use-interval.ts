// Repeats something while the page is visible.
import { useEffect, useRef } from "react";

/** Calls `again` at an interval while the page is visible; not at all if it is undefined. */
export function useInterval(ms: number, again: (() => void) | undefined): void {
  const latest = useRef(again);
  latest.current = again;
  const wanted = again !== undefined;
  useEffect(() => {
    if (!wanted) return;
    const timer = setInterval(() => !document.hidden && latest.current?.(), ms);
    const back = () => !document.hidden && latest.current?.();
    document.addEventListener("visibilitychange", back);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", back);
    };
  }, [ms, wanted]);
}
