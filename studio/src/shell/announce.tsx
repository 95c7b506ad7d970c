// What changes without being asked for is also said, for those who do not see it.
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from "react";

const Say = createContext<(words: string) => void>(() => {});

/** Several changes at once are said as the last of them. */
const SETTLE_MS = 250;

export function Announced({ children }: { children: ReactNode }) {
  const [words, setWords] = useState("");
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const say = useCallback((next: string) => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => setWords(next), SETTLE_MS);
  }, []);
  return (
    <Say.Provider value={say}>
      {children}
      <p className="unseen" role="status" aria-live="polite" data-testid="said">
        {words}
      </p>
    </Say.Provider>
  );
}

/** Gives the function that says something aloud. */
export function useSay(): (words: string) => void {
  return useContext(Say);
}
