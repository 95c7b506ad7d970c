// Doing something again and again while somebody looks.
import { useEffect, useRef } from "react";

/** Calls `again` every so often while the page is visible; not at all without it. */
export function useEvery(ms: number, again: (() => void) | undefined): void {
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
