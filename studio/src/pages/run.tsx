// The page of a run: its live graph, its steps, and its controls.
import { useCallback, useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Run } from "../api/types";
import { GraphView } from "../graph/view";
import { CallView } from "../inbox/call-view";
import { Link, to, useRouter } from "../router";
import { ReplanPage } from "../replan/view";
import { BreakForm, Debugger, isOver } from "../run/debugger";
import { Inspector, NodeDetails } from "../run/step-inspector";
import { useLiveRun, type LiveRun } from "../run/use-live-run";
import { Outcome, Questions } from "../run/outcome";
import { StatusWord } from "../run/status";
import { StepList } from "../run/step-list";
import { rowOf, isOpen, lastAt, nodeOf, stepOf } from "../run/steps";
import { Timeline } from "../run/timeline";
import { TimeTravel, usePastState } from "../run/time-travel";
import { useSteps } from "../run/use-steps";
import { SopSessionView } from "../sop/view";
import { useAnnounce } from "../shell/announce";
import { ErrorMessage } from "../shell/load";
import { count, duration } from "../shell/format";

/** How often an open step is fetched again at most. */
const AGAIN_MS = 1_000;

export function RunPage({ run: id, step }: { run: string; step?: number }) {
  const live = useLiveRun(id);
  const { search } = useRouter();
  if (live.wrong && !live.run) return <div className="page"><ErrorMessage wrong={live.wrong} /></div>;
  if (!live.run) return <p className="page quiet">Loading…</p>;
  if (new URLSearchParams(search).has("plan")) return <ReplanPage run={live.run} onAnswered={live.refresh} />;
  if (live.run.kind === "guided") return <SopSessionView run={live.run} refresh={live.refresh} />;
  return <LoadedRun live={live} run={live.run} step={step} />;
}

function LoadedRun({ live, run, step }: { live: LiveRun; run: Run; step?: number }) {
  const { go, search } = useRouter();
  const id = run.run_id;
  const seq = Number(new URLSearchParams(search).get("seq")) || undefined;
  const steps = useSteps(id, Math.max(live.state.seq, run.events));
  const amended = useMemo(() => live.graph?.nodes.some((node) => node.patch !== undefined) ?? false, [live.graph]);
  const idle = useMemo(() => new Set(live.graph?.nodes.filter((node) => node.kind === "wait").map((node) => node.id)), [live.graph]);
  const { past, wrong } = usePastState(id, seq, amended);
  const [picked, setPicked] = useState<string>();
  const [list, setList] = useState(false);
  const breaks = useBreakpoints(run, live.refresh);
  const last = Math.max(run.events, live.state.seq);
  const status = live.state.seq > run.events ? live.state.status : run.status;
  useStatusAnnouncement(run, status);

  const here = useCallback(
    (path: string, at?: number) => go(path + (at === undefined ? "" : `?seq=${at}`), { replace: true }),
    [go],
  );
  const onSeq = useCallback(
    (at: number | undefined) => here(step === undefined ? to("runs", id) : to("runs", id, "steps", step), at),
    [here, id, step],
  );
  const onStep = useCallback((chosen: number) => here(to("runs", id, "steps", chosen), seq), [here, id, seq]);

  const open = useMemo(() => steps.rows.some(isOpen), [steps]);
  const row = step === undefined ? undefined : steps.rows[rowOf(steps.rows, step)];
  const at = row && stepOf(row) === step ? nodeOf(steps, row) : undefined;
  const selected = picked ?? at;
  useEffect(() => setPicked(undefined), [step]);
  const onSelect = useCallback(
    (node: string | undefined) => {
      const latest = node === undefined ? undefined : lastAt(steps, node, past?.at.at_ms);
      if (latest !== undefined && latest !== step) onStep(latest);
      else if (node === undefined) here(to("runs", id), seq);
      setPicked(latest === undefined || latest === step ? node : undefined);
    },
    [steps, past, step, onStep, here, id, seq],
  );

  const state = past?.state ?? live.state;
  const graph = past?.graph ?? live.graph;
  const node = graph?.nodes.find((one) => one.id === selected);
  return (
    <section className="run" data-status={status}>
      <Head run={run} status={status} linked={live.linked} onDone={live.refresh} />
      {wrong && <ErrorMessage wrong={wrong} />}
      <div className="run-body">
        <div className="run-graph">
          {graph && (
            <GraphView
              graph={graph}
              name={`Graph of ${run.workflow}`}
              states={state.nodes}
              taken={state.taken}
              selected={selected}
              onSelect={onSelect}
              onOpen={() => document.querySelector<HTMLElement>(".run-side")?.focus()}
              breakpoints={breaks.shown}
              onBreak={isOver(status) ? undefined : breaks.toggle}
            />
          )}
        </div>
        <aside className="run-side" aria-label="Details" tabIndex={-1}>
          {amended && (
            <p>
              <Link href={`${to("runs", id)}?plan`}>How the plan changed</Link>
            </p>
          )}
          <Questions run={run} onAnswered={live.refresh} />
          {step !== undefined && (!picked || picked === at) ? (
            <Inspector run={id} step={step} fresh={row && isOpen(row) ? Math.floor(live.state.at_ms / AGAIN_MS) : (row?.[2] ?? 0)} onSeq={onSeq} />
          ) : (
            node && (
              <NodeDetails node={node}>
                {run.questions
                  .filter((question) => question.node === node.id)
                  .map((question) => (
                    <CallView key={question.checkpoint_id} question={question} />
                  ))}
              </NodeDetails>
            )
          )}
          {node && !isOver(status) && <BreakForm key={node.id} node={node.id} breakpoints={breaks.all} onChange={breaks.set} />}
          <Outcome run={run} open={!node && step === undefined} />
          {!node && step === undefined && <p className="quiet">Click a node or a bar to see what happened there. Arrow keys move along the edges, / finds a node.</p>}
        </aside>
      </div>
      <TimeTravel seq={seq} last={last} past={past} onSeq={onSeq} />
      <div className="run-steps">
        <div className="row" role="group" aria-label="Step view">
          <button type="button" aria-pressed={!list} onClick={() => setList(false)}>
            Timeline
          </button>
          <button type="button" aria-pressed={list} onClick={() => setList(true)}>
            List
          </button>
        </div>
        {list ? <StepList steps={steps} chosen={step} onChoose={onStep} /> : <Timeline steps={steps} chosen={step} onChoose={onStep} idle={idle} now_ms={open ? live.state.at_ms : 0} at_ms={past?.at.at_ms} />}
      </div>
    </section>
  );
}

function Head({ run, status, linked, onDone }: { run: Run; status: string; linked: boolean; onDone: () => void }) {
  const forked = run.forked_from;
  return (
    <header className="run-head">
      <h1>{run.workflow}</h1>
      <StatusWord status={status} />
      <code className="quiet">{run.run_id}</code>
      <span className="quiet">
        {count(run.steps, "step")} · {duration(run.updated_ms - run.started_ms)}
      </span>
      {forked && (
        <span>
          forked from <Link href={`${to("runs", forked.run_id)}?seq=${forked.seq}`}>another run</Link> ·{" "}
          <Link href={`${to("compare")}?left=${forked.run_id}&right=${run.run_id}`}>compare</Link>
        </span>
      )}
      {run.parent && (
        <span>
          called by <Link href={to("runs", run.parent.run_id, "steps", run.parent.step)}>step {run.parent.step} of another run</Link>
        </span>
      )}
      {!linked && !isOver(status) && <span role="alert">Connection lost; reconnecting…</span>}
      <span className="grow" />
      <Debugger run={run} status={status} onDone={onDone} />
      <Link href={`${to("compare")}?left=${run.run_id}`}>Compare…</Link>
    </header>
  );
}

/** The breakpoints of a run, as the graph shows them and as they are set. */
function useBreakpoints(run: Run, refresh: () => void) {
  const all = useMemo(() => run.breakpoints ?? [], [run.breakpoints]);
  const set = useCallback((next: Breakpoint[]) => void api.setBreakpoints(run.run_id, next).then(refresh, refresh), [run.run_id, refresh]);
  const shown = useMemo(() => Object.fromEntries(all.map(({ node, when }) => [node, when === undefined ? (true as const) : JSON.stringify(when)])), [all]);
  const toggle = useCallback(
    (node: string) => set(all.some((one) => one.node === node) ? all.filter((one) => one.node !== node) : [...all, { node }]),
    [all, set],
  );
  return { all, set, shown, toggle };
}

/** Announces status changes of the run to screen readers. */
function useStatusAnnouncement(run: Run, status: string): void {
  const say = useAnnounce();
  const asked = run.questions[0]?.message;
  useEffect(() => say(`${run.workflow}: ${status}${status === "paused" && asked ? `. ${asked}` : ""}`), [say, run.workflow, status, asked]);
}
