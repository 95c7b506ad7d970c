// What a run asks or how it ended, above everything else that is told of it.
import type { Json, Run } from "../api/types";
import { askedChanged } from "../shell/asked";
import { Tree } from "../value/tree";
import { Ask } from "./ask";

export function Outcome({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const answered = () => {
    askedChanged();
    onAnswered();
  };
  return (
    <>
      {run.questions.map((question) => (
        <section key={question.checkpoint_id} className="question" aria-label="Question">
          <Ask question={question} onAnswered={answered} />
        </section>
      ))}
      {run.outcome !== undefined && run.outcome !== null && (
        <details className="part" open>
          <summary>Outcome</summary>
          <Tree value={run.outcome as Json} label="Outcome" />
        </details>
      )}
      {run.input !== undefined && run.input !== null && (
        <details className="part">
          <summary>Input of the run</summary>
          <Tree value={run.input} label="Input of the run" />
        </details>
      )}
    </>
  );
}
