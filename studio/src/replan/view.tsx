// A changed plan as a coloured diff of its graph, with its open question.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Graph, Run } from "../api/types";
import { GraphView } from "../graph/view";
import { QuestionForm } from "../inbox/question-form";
import { Link, to } from "../router";
import { StatusWord } from "../run/status";
import { LoadView, useLoad } from "../shell/load";
import { count } from "../shell/format";
import { planChange, isChange, type PlanChange } from "./plan-change";
import { PlannedCalls } from "./planned-calls";

export function ReplanPage({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  return (
    <section className="run" data-status={run.status}>
      <header className="run-head">
        <h1>How the plan of {run.workflow} changed</h1>
        <StatusWord of={run} />
        <Link href={to("runs", run.run_id)}>Back to the run</Link>
      </header>
      <ReplanView run={run} onAnswered={onAnswered} />
    </section>
  );
}

/** Shows which nodes each change of the plan added; the open question is answered next to it. */
function ReplanView({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const found = useLoad(() => api.amendments(run.run_id), [run.run_id, run.events]);
  const [picked, setPicked] = useState<number>();
  return (
    <LoadView from={found}>
      {(amendments) => {
        const at = picked ?? amendments.amendments.length - 1;
        if (at < 0) return <p>The plan was not changed.</p>;
        return (
          <section className="replan" aria-label="Plan changes">
            <div className="row" role="group" aria-label="Which change">
              {amendments.amendments.map((one, index) => (
                <button key={one.seq} type="button" aria-pressed={index === at} onClick={() => setPicked(index)}>
                  Change {index + 1} by {one.by}
                  {amendments.proposed?.seq === one.seq && " (waiting for an answer)"}
                </button>
              ))}
            </div>
            <OneChange run={run} seq={amendments.amendments[at]?.seq} />
            <PlannedCalls calls={amendments.amendments[at]?.calls ?? []} />
            {run.questions.map((question) => (
              <section key={question.checkpoint_id} className="question" aria-label="Question">
                <QuestionForm question={question} onAnswered={onAnswered} />
              </section>
            ))}
          </section>
        );
      }}
    </LoadView>
  );
}

function OneChange({ run, seq }: { run: Run; seq?: number }) {
  const pair = usePlanPair(run.run_id, seq);
  if (!pair) return <p className="quiet">Loading…</p>;
  const change = planChange(pair.before, pair.after);
  return (
    <>
      <ChangeSummary change={change} />
      <GraphView graph={change.graph} name={`How the plan of ${run.workflow} changed`} marks={change.marks} remarks={change.remarks} />
    </>
  );
}

/** The plan before and after a change. */
function usePlanPair(run: string, seq: number | undefined): { before: Graph; after: Graph } | undefined {
  const [pair, setPair] = useState<{ before: Graph; after: Graph }>();
  useEffect(() => {
    if (seq === undefined) return;
    let over = false;
    Promise.all([api.graph(run, seq - 1), api.graph(run, seq)]).then(
      ([before, after]) => !over && setPair({ before, after }),
      (wrong: unknown) => console.error(wrong),
    );
    return () => {
      over = true;
    };
  }, [run, seq]);
  return pair;
}

const PARTS: { key: "added" | "removed" | "changed"; sign: string; word: string }[] = [
  { key: "added", sign: "+", word: "added" },
  { key: "changed", sign: "±", word: "changed" },
  { key: "removed", sign: "−", word: "removed" },
];

/** The same in words, for people who cannot see the colours. */
export function ChangeSummary({ change, what = "plan" }: { change: PlanChange; what?: string }) {
  if (!isChange(change)) return <p>The graph of the {what} is unchanged.</p>;
  return (
    <ul className="change-words">
      {PARTS.map(({ key, sign, word }) =>
        change[key].length === 0 ? null : (
          <li key={key} data-mark={key}>
            <span aria-hidden="true">{sign} </span>
            {count(change[key].length, "node")} {word}: {change[key].join(", ")}
          </li>
        ),
      )}
      {change.ways.added.length > 0 && <li data-mark="added">+ new edges: {change.ways.added.join(", ")}</li>}
      {change.ways.removed.length > 0 && <li data-mark="removed">− removed edges: {change.ways.removed.join(", ")}</li>}
    </ul>
  );
}
