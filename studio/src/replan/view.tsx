// A plan that changed, as a coloured difference on its graph, with the question that it answers.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Graph, Run } from "../api/types";
import { GraphView } from "../graph/view";
import { Ask } from "../inbox/ask";
import { Link, to } from "../router";
import { StatusWord } from "../run/status";
import { Show, useLoad } from "../shell/load";
import { count } from "../shell/words";
import { changeOf, isChange, type Change } from "./change";
import { PlannedCalls } from "./planned";

export function ReplanPage({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  return (
    <section className="run" data-status={run.status}>
      <header className="run-head">
        <h1>How the plan of {run.workflow} changed</h1>
        <StatusWord status={run.status} />
        <Link href={to("runs", run.run_id)}>Back to the run</Link>
      </header>
      <Replan run={run} onAnswered={onAnswered} />
    </section>
  );
}

/** Shows which nodes changes of a plan brought; what waits is answered beside it. */
function Replan({ run, onAnswered }: { run: Run; onAnswered: () => void }) {
  const found = useLoad(() => api.amendments(run.run_id), [run.run_id, run.events]);
  const [picked, setPicked] = useState<number>();
  return (
    <Show from={found}>
      {(amendments) => {
        const at = picked ?? amendments.amendments.length - 1;
        if (at < 0) return <p>The plan was not changed.</p>;
        return (
          <section className="replan" aria-label="Changes of the plan">
            <div className="row" role="group" aria-label="Which change">
              {amendments.amendments.map((one, index) => (
                <button key={one.seq} type="button" aria-pressed={index === at} onClick={() => setPicked(index)}>
                  Change {index + 1} by {one.by}
                  {amendments.proposed?.seq === one.seq && " (waits for an answer)"}
                </button>
              ))}
            </div>
            <OneChange run={run} seq={amendments.amendments[at]?.seq} />
            <PlannedCalls calls={amendments.amendments[at]?.calls ?? []} />
            {run.questions.map((question) => (
              <section key={question.checkpoint_id} className="question" aria-label="Question">
                <Ask question={question} onAnswered={onAnswered} />
              </section>
            ))}
          </section>
        );
      }}
    </Show>
  );
}

function OneChange({ run, seq }: { run: Run; seq?: number }) {
  const pair = usePair(run.run_id, seq);
  if (!pair) return <p className="quiet">Loading…</p>;
  const change = changeOf(pair.before, pair.after);
  return (
    <>
      <Words change={change} />
      <GraphView graph={change.graph} name={`How the plan of ${run.workflow} changed`} marks={change.marks} remarks={change.remarks} />
    </>
  );
}

/** The plan before and after a change. */
function usePair(run: string, seq: number | undefined): { before: Graph; after: Graph } | undefined {
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

/** The same in words, for those who do not see the colours. */
export function Words({ change }: { change: Change }) {
  if (!isChange(change)) return <p>The plan stays as it is.</p>;
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
      {change.ways.added.length > 0 && <li data-mark="added">+ new ways: {change.ways.added.join(", ")}</li>}
      {change.ways.removed.length > 0 && <li data-mark="removed">− ways gone: {change.ways.removed.join(", ")}</li>}
    </ul>
  );
}
