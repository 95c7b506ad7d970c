// Keys that work on every page. Typing in a field is never taken for one.
import { useEffect, useRef } from "react";

type Actions = { find: () => void; keys: () => void; go: (page: string) => void };

/** `g` and then one of these opens a page. */
export const GO: { [key: string]: { page: string; word: string } } = {
  h: { page: "", word: "Home" },
  w: { page: "tools", word: "Workflows" },
  r: { page: "runs", word: "Runs" },
  i: { page: "inbox", word: "Inbox" },
  d: { page: "documents", word: "Documents" },
  p: { page: "playground", word: "Playground" },
};

/** How long `g` waits for the second key. */
const SECOND_MS = 1_200;

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useShortcuts(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let began = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return latest.current.find();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (event.key === "?") return latest.current.keys();
      const wanted = performance.now() - began < SECOND_MS ? GO[event.key] : undefined;
      began = event.key === "g" ? performance.now() : 0;
      if (wanted) latest.current.go(wanted.page);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
