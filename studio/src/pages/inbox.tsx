// The open questions of all runs, with their answer forms.
import { useEffect, useRef } from "react";
import { api } from "../api/client";
import type { Question } from "../api/types";
import { QuestionForm } from "../inbox/question-form";
import { QuestionHead } from "../inbox/question-head";
import { Link, to } from "../router";
import { useAnnounce } from "../shell/announce";
import { questionsChanged } from "../shell/question-count";
import { useInterval } from "../shell/use-interval";
import { LoadView, useLoad } from "../shell/load";
import { count } from "../shell/format";
import { Empty } from "../ui/empty";
import { Ago } from "../ui/time";

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
    <section className="page narrow">
      <header className="page-head">
        <h1>Inbox</h1>
        <span className="quiet">what waits for a person, oldest first</span>
      </header>
      <LoadView from={asked}>
        {({ approvals, more }) => {
          const questions = approvals.filter((one) => one["kind"] !== "break");
          const halted = approvals.filter((one) => one["kind"] === "break");
          return (
            <>
              {questions.length === 0 && (
                <div className="card">
                  <Empty icon="inbox" title="No open questions.">
                    A node with <code>approval:</code>, a policy that asks, or a call whose result is unknown puts a question here.
                  </Empty>
                </div>
              )}
              <ul className="cards">
                {questions.map((question) => (
                  <li key={question.checkpoint_id}>
                    <QuestionHead question={question} />
                    <QuestionForm question={question} onAnswered={answered} />
                  </li>
                ))}
              </ul>
              {halted.length > 0 && <Halted runs={halted} />}
              {more && <p className="quiet">More runs are waiting than are shown here.</p>}
            </>
          );
        }}
      </LoadView>
    </section>
  );
}

/** Runs at breakpoints wait for their debugger, not for a decision. */
function Halted({ runs }: { runs: Question[] }) {
  return (
    <section aria-labelledby="halted">
      <div className="sect">
        <h2 id="halted">Halted at breakpoints</h2>
        <span className="quiet">{runs.length}</span>
      </div>
      <ul className="card rows">
        {runs.map((one) => (
          <li key={one.checkpoint_id} className="run-row">
            <span />
            <div>
              <Link href={to("runs", one.run_id ?? "")}>{one.workflow}</Link>
              <p className="quiet">before {one.node ?? "its next step"}</p>
            </div>
            {one.waits_since_ms !== undefined && <Ago ms={one.waits_since_ms} />}
          </li>
        ))}
      </ul>
    </section>
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
