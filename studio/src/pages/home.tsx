// Home: what waits for you, what runs, what failed lately, and the workflows and procedures.
import { useMemo } from "react";
import { api } from "../api/client";
import type { Question, RunRow } from "../api/types";
import { useDrafts } from "../editor/drafts";
import { MiniGraph } from "../graph/mini-graph";
import { troubled, workflowFacts } from "../home/statistics";
import { WorkflowCard } from "../home/workflow-card";
import { QuestionForm } from "../inbox/question-form";
import { QuestionHead } from "../inbox/question-head";
import { Link, to } from "../router";
import { isInterrupted, startOfRun } from "../run/run-status";
import { StatusIcon } from "../run/status";
import { count } from "../shell/format";
import { LoadView, useLoad } from "../shell/load";
import { questionsChanged } from "../shell/question-count";
import { useInterval } from "../shell/use-interval";
import { Empty } from "../ui/empty";
import { Icon } from "../ui/icon";
import { Ago, Elapsed } from "../ui/time";
import { toast } from "../ui/toast";

const EVERY_MS = 3_000;
/** The runs that statistics are made of. */
const RUNS_MAX = 200;
const QUESTIONS_SHOWN = 3;
const ROWS_SHOWN = 6;

export function HomePage() {
  const asked = useLoad(() => api.approvals(), []);
  const runs = useLoad(() => api.runs({ most: RUNS_MAX }), []);
  const tools = useLoad(() => api.tools(), []);
  const documents = useLoad(() => api.documents(), []);
  useInterval(EVERY_MS, () => (asked.again(), runs.again()));
  const rows = runs.value?.runs ?? NONE;
  const facts = useMemo(() => workflowFacts(rows), [rows]);
  const questions = (asked.value?.approvals ?? []).filter((one) => one["kind"] !== "break");
  const going = rows.filter((row) => (row.status === "running" && row.driven) || row.status === "paused" || row.status === "guided");
  const bad = troubled(rows);
  const procedures = (documents.value?.documents ?? []).filter((one) => one.format === "sop");
  const answered = () => {
    questionsChanged();
    asked.again();
    runs.again();
  };
  return (
    <section className="page broad home">
      <h1 className="unseen">Home</h1>
      <Unsaved />
      <div className="home-row">
        <section aria-labelledby="needs">
          <div className="sect">
            <h2 id="needs">Needs you</h2>
            <span className="quiet">{questions.length === 0 ? "" : `${count(questions.length, "decision")} ${questions.length === 1 ? "is" : "are"} waiting`}</span>
            <Link href={to("inbox")}>Open inbox</Link>
          </div>
          <LoadView from={asked}>
            {() =>
              questions.length === 0 ? (
                <div className="card">
                  <Empty icon="done" title="Nothing waits for you.">
                    Approvals and questions of all runs appear here.
                  </Empty>
                </div>
              ) : (
                <ul className="cards">
                  {questions.slice(0, QUESTIONS_SHOWN).map((question) => (
                    <Ask key={question.checkpoint_id} question={question} onAnswered={answered} />
                  ))}
                </ul>
              )
            }
          </LoadView>
        </section>
        <div className="home-side">
          <section aria-labelledby="running">
            <div className="sect">
              <h2 id="running">Running now</h2>
              <Link href={to("runs")}>All runs</Link>
            </div>
            <LoadView from={runs}>
              {() =>
                going.length === 0 ? (
                  <div className="card">
                    <Empty icon="activity" title="Nothing is running.">
                      Start a workflow below.
                    </Empty>
                  </div>
                ) : (
                  <ul className="card rows">
                    {going.slice(0, ROWS_SHOWN).map((row) => (
                      <GoingRow key={row.run_id} row={row} />
                    ))}
                  </ul>
                )
              }
            </LoadView>
          </section>
          {bad.length > 0 && (
            <section aria-labelledby="failed">
              <div className="sect">
                <h2 id="failed">Failed recently</h2>
                <Link href={`${to("runs")}?status=failed`}>All failed</Link>
              </div>
              <ul className="card rows">
                {bad.slice(0, ROWS_SHOWN).map((row) => (
                  <BadRow key={row.run_id} row={row} onDone={runs.again} />
                ))}
              </ul>
            </section>
          )}
        </div>
      </div>
      <section aria-labelledby="workflows">
        <div className="sect">
          <h2 id="workflows">Workflows</h2>
          <span className="quiet">{tools.value?.tools.length}</span>
          <Link href={to("tools")}>All workflows</Link>
        </div>
        <LoadView from={tools}>
          {({ tools }) =>
            tools.length === 0 ? (
              <div className="card">
                <Empty icon="workflow" title="No workflows yet.">
                  <code>tramline studio FILE…</code> opens documents; workflows that agents save appear here too.
                </Empty>
              </div>
            ) : (
              <ul className="workflows">
                {[...tools].sort((a, b) => (facts[b.name]?.last?.updated_ms ?? 0) - (facts[a.name]?.last?.updated_ms ?? 0)).map((tool) => (
                  <WorkflowCard key={tool.name} tool={tool} facts={facts[tool.name]} source={documents.value?.documents.find((one) => one.id === tool.document)?.path} />
                ))}
              </ul>
            )
          }
        </LoadView>
      </section>
      {procedures.length > 0 && (
        <section aria-labelledby="procedures">
          <div className="sect">
            <h2 id="procedures">Procedures</h2>
            <span className="quiet">{procedures.length}</span>
          </div>
          <ul className="workflows">
            {procedures.map((one) => (
              <li key={one.id} className="workflow">
                <Link className="workflow-picture" href={to("documents", one.id)} tabIndex={-1} aria-hidden="true">
                  <MiniGraph load={() => procedureGraph(one.id)} />
                </Link>
                <h3>
                  <Link href={to("documents", one.id)}>{one.name}</Link>
                </h3>
                <p className="meta quiet">
                  {one.path}
                  <Link className="btn" data-small href={`${to("runs")}?status=guided`}>
                    Sessions
                  </Link>
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </section>
  );
}

const NONE: RunRow[] = [];

async function procedureGraph(id: string) {
  const { text, format, name } = await api.document(id);
  const { procedure } = await api.check({ text, format, name });
  if (!procedure) throw new Error("the procedure has errors");
  return procedure;
}

/** Edits that were never saved. */
function Unsaved() {
  const drafts = useDrafts();
  if (drafts.length === 0) return null;
  return (
    <div className="notice" role="status">
      <Icon name="edit" />
      <p>
        Unsaved edits are kept in this browser:{" "}
        {drafts.map((draft, at) => (
          <span key={draft.id}>
            {at > 0 && ", "}
            <Link href={to("documents", draft.id)}>{draft.name}</Link> (<Ago ms={draft.at_ms} />)
          </span>
        ))}
      </p>
    </div>
  );
}

function Ask({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  return (
    <li>
      <QuestionHead question={question} />
      <QuestionForm question={question} onAnswered={onAnswered} brief />
    </li>
  );
}

function GoingRow({ row }: { row: RunRow }) {
  return (
    <li className="run-row">
      <StatusIcon of={row} />
      <div>
        <Link href={to("runs", row.run_id)}>{row.workflow}</Link>
        <p className="quiet preview">{row.status === "paused" ? "waiting for an answer" : row.status === "guided" ? "guided session" : row.input_preview || "running"}</p>
      </div>
      <Elapsed since_ms={startOfRun(row)} />
    </li>
  );
}

function BadRow({ row, onDone }: { row: RunRow; onDone: () => void }) {
  const cut = isInterrupted(row);
  const resume = () => api.continueRun(row.run_id).then(onDone, (wrong: Error) => toast("It could not be resumed", wrong.message));
  const words = cut ? "interrupted: its process ended" : row.status === "failed" ? row.outcome_preview : `completed, but ${count(row.failures ?? 0, "step")} failed`;
  return (
    <li className="run-row">
      <StatusIcon of={row} />
      <div>
        <Link href={to("runs", row.run_id)}>{row.workflow}</Link> <span className="quiet"><Ago ms={row.updated_ms} /></span>
        <p className="quiet preview" title={words}>
          {words}
        </p>
      </div>
      {cut ? (
        <button type="button" className="btn" data-small onClick={() => void resume()}>
          Resume
        </button>
      ) : (
        <Link className="btn" data-small href={`${to("tools", row.workflow)}?from=${encodeURIComponent(row.run_id)}`}>
          Retry…
        </Link>
      )}
    </li>
  );
}
