// What all runs ask, and a place to answer.
import { useEffect, useRef } from "react";
import { api } from "../api/client";
import type { Question } from "../api/types";
import { Ask } from "../inbox/ask";
import { Link, to } from "../router";
import { useSay } from "../shell/announce";
import { askedChanged } from "../shell/asked";
import { useEvery } from "../shell/every";
import { Show, useLoad } from "../shell/load";
import { count, duration } from "../shell/words";

/** How often it is looked for new questions. */
const EVERY_MS = 2_000;

export function Inbox() {
  const asked = useLoad(() => api.approvals(), []);
  useEvery(EVERY_MS, asked.again);
  useSaid(asked.value?.approvals.length);
  const answered = () => {
    askedChanged();
    asked.again();
  };
  return (
    <section className="page">
      <h1>Waiting for an answer</h1>
      <Show from={asked}>
        {({ approvals, more }) => (
          <>
            {approvals.length === 0 && <p>Nothing waits for an answer.</p>}
            <ul className="cards">
              {approvals.map((question) => (
                <li key={question.checkpoint_id}>
                  <Head question={question} />
                  <Ask question={question} onAnswered={answered} />
                </li>
              ))}
            </ul>
            {more && <p className="quiet">More runs wait than are shown here.</p>}
          </>
        )}
      </Show>
    </section>
  );
}

function Head({ question }: { question: Question }) {
  const since = question.waits_since_ms;
  return (
    <header className="row">
      <h2>{question.workflow}</h2>
      <span className="tag">{String(question["kind"] ?? "question").replace(/_/g, " ")}</span>
      {question.node && <code>{question.node}</code>}
      {since !== undefined && <span className="quiet">waits for {duration(Math.max(0, Date.now() - since))}</span>}
      <span className="grow" />
      {question["kind"] === "layer" && <Link href={`${to("runs", question.run_id ?? "")}?plan`}>Changes of the plan</Link>}
      <Link href={to("runs", question.run_id ?? "")}>See the run</Link>
    </header>
  );
}

/** Says aloud when questions come or go. */
function useSaid(waiting: number | undefined): void {
  const say = useSay();
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting !== undefined && before.current !== undefined && before.current !== waiting) say(`${count(waiting, "question")} waiting`);
    before.current = waiting;
  }, [say, waiting]);
}
