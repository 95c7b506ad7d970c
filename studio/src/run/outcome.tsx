// What a run asks, and how it began and ended.
import type { Json, Run } from "../api/types";
import { askedChanged } from "../shell/asked";
import { Tree } from "../value/tree";
import { Ask } from "./ask";

export function Questions({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const answered = () => {
    askedChanged();
    onAnswered();
  };
  return run.questions.map((question) => (
    <section key={question.checkpoint_id} className="question" aria-label="Question">
      <Ask question={question} onAnswered={answered} />
    </section>
  ));
}

/** Open where nothing else is looked at. */
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
