// The questions, input and outcome of a run.
import type { Json, Run } from "../api/types";
import { questionsChanged } from "../shell/question-count";
import { Tree } from "../value/tree";
import { QuestionForm } from "./question-form";

export function Questions({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const answered = () => {
    questionsChanged();
    onAnswered();
  };
  return run.questions.map((question) => (
    <section key={question.checkpoint_id} className="question" aria-label="Question">
      <QuestionForm question={question} onAnswered={answered} />
    </section>
  ));
}

/** Open if nothing else is selected. */
export function Outcome({ run, open }: { run: Run; open: boolean }) {
  return (
    <>
      {run.outcome !== undefined && run.outcome !== null && (
        <details className="part" open={open}>
          <summary>Outcome of the run</summary>
          <Tree value={run.outcome as Json} label="Outcome of the run" />
        </details>
      )}
      {run.input !== undefined && run.input !== null && (
        <details className="part" open={open}>
          <summary>Input of the run</summary>
          <Tree value={run.input} label="Input of the run" />
        </details>
      )}
    </>
  );
}
