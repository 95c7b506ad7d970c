// The open questions of all runs, with their answer forms.
import { useEffect, useRef } from "react";
import { api } from "../api/client";
import type { Question } from "../api/types";
import { QuestionForm } from "../inbox/question-form";
import { Link, to } from "../router";
import { useAnnounce } from "../shell/announce";
import { questionsChanged } from "../shell/question-count";
import { useInterval } from "../shell/use-interval";
import { LoadView, useLoad } from "../shell/load";
import { count, duration } from "../shell/format";

/** How often new questions are fetched. */
const EVERY_MS = 2_000;

export function InboxPage() {
  const asked = useLoad(() => api.approvals(), []);
  useInterval(EVERY_MS, asked.again);
  useQuestionAnnouncement(asked.value?.approvals.length);
  const answered = () => {
    questionsChanged();
    asked.again();
  };
  return (
    <section className="page">
      <h1>Waiting for an answer</h1>
      <LoadView from={asked}>
        {({ approvals, more }) => (
          <>
            {approvals.length === 0 && <p>No open questions.</p>}
            <ul className="cards">
              {approvals.map((question) => (
                <li key={question.checkpoint_id}>
                  <Head question={question} />
                  <QuestionForm question={question} onAnswered={answered} />
                </li>
              ))}
            </ul>
            {more && <p className="quiet">More runs are waiting than are shown here.</p>}
          </>
        )}
      </LoadView>
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
      {question["kind"] === "layer" && <Link href={`${to("runs", question.run_id ?? "")}?plan`}>Plan changes</Link>}
      <Link href={to("runs", question.run_id ?? "")}>Open the run</Link>
    </header>
  );
}

/** Announces new and answered questions to screen readers. */
function useQuestionAnnouncement(waiting: number | undefined): void {
  const say = useAnnounce();
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting !== undefined && before.current !== undefined && before.current !== waiting) say(`${count(waiting, "question")} waiting`);
    before.current = waiting;
  }, [say, waiting]);
}
