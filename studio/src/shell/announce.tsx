// Announces changes to screen readers.
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from "react";

const AnnounceContext = createContext<(words: string) => void>(() => {});

/** Of several changes at once, only the last is announced. */
const SETTLE_MS = 250;

export function Announcer({ children }: { children: ReactNode }) {
  const [words, setWords] = useState("");
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const say = useCallback((next: string) => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => setWords(next), SETTLE_MS);
  }, []);
  return (
    <AnnounceContext.Provider value={say}>
      {children}
      <p className="unseen" role="status" aria-live="polite" data-testid="said">
        {words}
      </p>
    </AnnounceContext.Provider>
  );
}

/** Returns the function that announces a message. */
export function useAnnounce(): (words: string) => void {
  return useContext(AnnounceContext);
}
