// The number of open questions, shown next to the inbox.
import { useEffect, useState } from "react";
import { api } from "../api/client";

/** Often enough to notice, rarely enough to cost nothing. */
const EVERY_MS = 5_000;
const changed = new EventTarget();

/** A question was answered or asked: count again at once. */
export function questionsChanged(): void {
  changed.dispatchEvent(new Event("change"));
}

export function useQuestionCount(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    let over = false;
    const look = () => {
      if (document.hidden) return;
      api.approvals().then(
        ({ approvals }) => !over && setCount(approvals.filter((one) => one["kind"] !== "break").length),
        () => {},
      );
    };
    look();
    const timer = setInterval(look, EVERY_MS);
    changed.addEventListener("change", look);
    return () => {
      over = true;
      clearInterval(timer);
      changed.removeEventListener("change", look);
    };
  }, []);
  return count;
}
