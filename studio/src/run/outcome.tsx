// The questions, failures, input and outcome of a run.
import type { Json, Run } from "../api/types";
import { Link, to } from "../router";
import { moment } from "../shell/format";
import { questionsChanged } from "../shell/question-count";
import { Icon } from "../ui/icon";
import { Tree } from "../value/tree";
import { QuestionForm } from "./question-form";

/** The open questions; a breakpoint is no question but a place where the run halts. */
export function Questions({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const answered = () => {
    questionsChanged();
    onAnswered();
  };
  return run.questions.map((question) =>
    question["kind"] === "break" ? (
      <section key={question.checkpoint_id} className="halt" aria-label="Halted">
        <Icon name="bug" />
        <p>
          Halted before <strong>{question.node ?? "the next step"}</strong>. Use Step or Continue above; nothing else is asked of you.
        </p>
      </section>
    ) : (
      <section key={question.checkpoint_id} className="question" aria-label="Question">
        <QuestionForm question={question} onAnswered={answered} />
      </section>
    ),
  );
}

/** Who rejected the run, and why. */
export function RejectionNote({ rejection }: { rejection: NonNullable<Run["rejection"]> }) {
  return (
    <section className="verdict" aria-label="Rejection">
      <Icon name="ban" />
      <div>
        <strong>
          Rejected{rejection.by ? ` by ${rejection.by}` : ""}
          {rejection.node ? ` at ${rejection.node}` : ""}
        </strong>
        <p>{rejection.why ? `“${rejection.why}”` : "No reason was given."}</p>
        {rejection.at_ms !== undefined && <p className="quiet">{moment(rejection.at_ms)}{rejection.via ? ` · via ${rejection.via}` : ""}</p>}
      </div>
    </section>
  );
}

/** The steps that failed although the run completed, or that made it fail. */
export function Failures({ run }: { run: Run }) {
  const failures = run.failures;
  if (!failures || failures.count === 0) return null;
  return (
    <section className="verdict" aria-label="Failures">
      <Icon name="warning" />
      <div>
        <strong>{failures.count === 1 ? "1 step failed" : `${failures.count} steps failed`}</strong>
        <ul className="plain">
          {failures.steps.map((one) => (
            <li key={one.step}>
              <Link href={to("runs", run.run_id, "steps", one.step)}>
                {one.node}
                {typeof one.item === "number" && ` item ${one.item}`}
              </Link>{" "}
              <span>{one.message}</span> <code className="quiet">{one.code}</code>
            </li>
          ))}
        </ul>
        {failures.count > failures.steps.length && <p className="quiet">{failures.count - failures.steps.length} more</p>}
      </div>
    </section>
  );
}

/** Open if nothing else is selected. */
export function Outcome({ run, open }: { run: Run; open: boolean }) {
  return (
    <>
      {run.outcome !== undefined && run.outcome !== null && (
        <details className="part" open={open}>
          <summary>Outcome of the run</summary>
          <Tree value={run.outcome as Json} label="Outcome of the run" bare />
        </details>
      )}
      {run.input !== undefined && run.input !== null && (
        <details className="part" open={open}>
          <summary>Input of the run</summary>
          <Tree value={run.input} label="Input of the run" bare />
        </details>
      )}
    </>
  );
}
