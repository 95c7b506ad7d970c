// Compares two runs: which steps are equal, and what differs.
import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { StepDifference, StepPair, ComparedStep } from "../api/types";
import { statusLook } from "../graph/node-statuses";
import { GraphView } from "../graph/view";
import { planChange } from "../replan/plan-change";
import { Link, to, useRouter } from "../router";
import { LoadView, useLoad } from "../shell/load";
import { runStatusLook, startOfRun } from "../run/run-status";
import { ago, count } from "../shell/format";
import { Empty } from "../ui/empty";
import { Select } from "../ui/select";
import { Tree } from "../value/tree";

/** The maximum number of rows shown. */
const ROWS = 200;
/** The maximum number of differing positions shown per value. */
const PLACES = 20;

export function ComparePage() {
  const { search, go } = useRouter();
  const given = new URLSearchParams(search);
  const [left, right] = [given.get("left") ?? "", given.get("right") ?? ""];
  const pick = (side: "left" | "right", run: string) => {
    given.set(side, run);
    go(`${to("compare")}?${given}`, { replace: true });
  };
  return (
    <section className="page broad">
      <h1>Compare runs</h1>
      <div className="row compare-picks">
        <RunPicker side="left" run={left} onPick={pick} />
        <RunPicker side="right" run={right} onPick={pick} />
      </div>
      {left && right ? <ComparisonView left={left} right={right} /> : <Empty icon="compare" title="Choose two runs.">Their steps are put side by side, with what differs in inputs, outputs and results.</Empty>}
    </section>
  );
}

/** Both runs in one graph: which nodes differ, and in what. */
function ComparedGraph({ left, right, steps }: { left: string; right: string; steps: StepPair[] }) {
  const graphs = useLoad(() => Promise.all([api.graph(left), api.graph(right)]), [left, right]);
  const drawn = useMemo(() => {
    if (!graphs.value) return undefined;
    const change = planChange(...graphs.value);
    for (const step of steps) {
      if (step.same || change.marks[step.node] === "added" || change.marks[step.node] === "removed") continue;
      const parts = step.parts?.map((part) => part.part) ?? [];
      change.marks[step.node] = "changed";
      change.remarks[step.node] = !step.left ? "only on the right" : !step.right ? "only on the left" : parts.length ? `${parts.join(", ")} differ${parts.length === 1 ? "s" : ""}` : "differs";
    }
    return change;
  }, [graphs.value, steps]);
  if (!drawn) return null;
  return (
    <div className="card compare-graph">
      <GraphView graph={drawn.graph} name="Where the runs differ" marks={drawn.marks} remarks={drawn.remarks} />
    </div>
  );
}

function RunPicker({ side, run, onPick }: { side: "left" | "right"; run: string; onPick: (side: "left" | "right", run: string) => void }) {
  const runs = useLoad(() => api.runs({ most: 100 }), []);
  const known = runs.value?.runs ?? [];
  const options = known.map((one) => ({ value: one.run_id, label: `${one.workflow} · ${runStatusLook(one).words} · ${ago(Date.now() - startOfRun(one))}`, hint: one.input_preview || one.run_id }));
  if (run && !known.some((one) => one.run_id === run)) options.unshift({ value: run, label: run, hint: "" });
  return (
    <div className="field">
      <span className="quiet">{side === "left" ? "Left" : "Right"}</span>
      <Select label={side === "left" ? "Left run" : "Right run"} value={run} options={options} placeholder="Choose a run…" onChange={(next) => onPick(side, next)} wide />
    </div>
  );
}

function ComparisonView({ left, right }: { left: string; right: string }) {
  const compared = useLoad(() => api.compare(left, right), [left, right]);
  const [all, setAll] = useState(false);
  return (
    <LoadView from={compared}>
      {(found) => {
        const differ = found.steps.filter((step) => !step.same).length;
        const rows = found.steps.filter((step) => all || !step.same);
        return (
          <>
            <p role="status">{found.same ? "The runs are identical." : `${count(differ, "step")} of ${found.steps.length} differ.`}</p>
            <label className="line">
              <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Show equal steps too
            </label>
            {(found.input.length > 0 || found.outcome.length > 0) && (
              <div className="card pad">
                <Differences name="Input" places={found.input} />
                <Differences name="Outcome" places={found.outcome} />
              </div>
            )}
            <ComparedGraph left={left} right={right} steps={found.steps} />
            <Rows rows={rows.slice(0, ROWS)} left={left} right={right} />
            {(found.more || rows.length > ROWS) && <p className="quiet">More differences are not shown.</p>}
          </>
        );
      }}
    </LoadView>
  );
}

function Rows({ rows, left, right }: { rows: StepPair[]; left: string; right: string }) {
  if (rows.length === 0) return null;
  return (
    <div className="card scroll" role="region" aria-label="Steps side by side" tabIndex={0}>
    <table className="compare">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">Left</th>
          <th scope="col">Right</th>
          <th scope="col">What differs</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index} data-same={row.same}>
            <th scope="row">
              {row.same ? "=" : "≠"} {row.node}
              {row.visit > 1 && ` (visit ${row.visit})`}
              {row.item !== undefined && ` (item ${row.item})`}
            </th>
            <td>
              <OneSide run={left} side={row.left} />
            </td>
            <td>
              <OneSide run={right} side={row.right} />
            </td>
            <td>
              {row.parts?.map((part) => (
                <Differences key={part.part} name={part.part} places={part.places} />
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    </div>
  );
}

function OneSide({ run, side }: { run: string; side?: ComparedStep }) {
  if (!side) return <span className="quiet">missing</span>;
  const look = statusLook(side.status === "open" ? "running" : side.status);
  return (
    <Link href={to("runs", run, "steps", side.step)}>
      step {side.step} {look.sign} {look.word}
    </Link>
  );
}

function Differences({ name, places }: { name: string; places: StepDifference["places"] }) {
  if (places.length === 0) return null;
  return (
    <dl className="places">
      {places.slice(0, PLACES).map((place) => (
        <div key={place.at}>
          <dt>
            {name} <code>{place.at}</code>
          </dt>
          <dd className="first">
            <span aria-hidden="true">− </span>
            <Tree value={place.first} label="Left" />
          </dd>
          <dd className="second">
            <span aria-hidden="true">+ </span>
            <Tree value={place.second} label="Right" />
          </dd>
        </div>
      ))}
      {places.length > PLACES && <div className="quiet">{count(places.length - PLACES, "more difference")}</div>}
    </dl>
  );
}
