// The page of a run: its live graph, its steps, and its controls.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Question, Run } from "../api/types";
import { PINNED } from "../graph/node";
import { GraphView } from "../graph/view";
import { CallView } from "../inbox/call-view";
import { Link, to, useRouter } from "../router";
import { ReplanPage } from "../replan/view";
import { BreakForm, BreakpointList, isHalted } from "../run/debugger";
import { Inspector, NodeDetails } from "../run/step-inspector";
import { useLiveRun, type LiveRun } from "../run/use-live-run";
import { overlay, startingNodes } from "../run/node-overlay";
import { nodeTimes } from "../run/node-times";
import { Failures, Outcome, Questions, RejectionNote } from "../run/outcome";
import { RunHead } from "../run/run-head";
import { isInterrupted, isOver, runStatusLook } from "../run/run-status";
import { StepList } from "../run/step-list";
import { ASK_STEP, rowOf, isOpen, lastAt, nodeOf, stepOf, withQuestions } from "../run/steps";
import { Timeline } from "../run/timeline";
import { PastBanner, TimeTravel, usePastState } from "../run/time-travel";
import { useSteps } from "../run/use-steps";
import { isPin, PinForm, storePin } from "../run/pins";
import { storeBreakpoints } from "../run/stored-breakpoints";
import { Watches } from "../run/watches";
import { SopSessionView } from "../sop/view";
import { useAnnounce } from "../shell/announce";
import { ErrorMessage } from "../shell/load";
import { Skeleton } from "../ui/empty";
import { Split } from "../ui/split";
import { useNow } from "../ui/time";

/** How often an open step is fetched again at most. */
const AGAIN_MS = 1_000;
/** How often the timeline of an open run grows; more rarely with many steps. */
const TICK_MS = 500;
const TICK_MANY_MS = 5_000;
const MANY_STEPS = 5_000;

export function RunPage({ run: id, step }: { run: string; step?: number }) {
  const live = useLiveRun(id);
  const { search } = useRouter();
  if (live.wrong && !live.run) return <div className="page"><ErrorMessage wrong={live.wrong} /></div>;
  if (!live.run) return <div className="page"><Skeleton rows={8} /></div>;
  if (new URLSearchParams(search).has("plan")) return <ReplanPage run={live.run} onAnswered={live.refresh} />;
  if (live.run.kind === "guided") return <SopSessionView run={live.run} refresh={live.refresh} />;
  return <LoadedRun live={live} run={live.run} step={step} />;
}

/** What a reader looks for first. */
const MATTERS = new Set(["running", "asking", "rejected", "starting", "retrying", "stopped"]);
const NO_QUESTIONS: Question[] = [];

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
  const unended = useMemo(() => new Set(isOver(status) && open ? steps.rows.filter(isOpen).map((one) => nodeOf(steps, one)) : []), [steps, open, status]);
  const row = step === undefined ? undefined : steps.rows[rowOf(steps.rows, step)];
  const at = row && stepOf(row) === step ? nodeOf(steps, row) : undefined;
  const selected = picked ?? at;
  useEffect(() => {
    if (step !== undefined) setPicked(undefined);
  }, [step]);
  const onSelect = useCallback(
    (node: string | undefined) => {
      const latest = node === undefined ? undefined : lastAt(steps, node, past?.at.at_ms);
      if (latest !== undefined && latest !== step) onStep(latest);
      // The address names a step only if the selected node has one.
      else if (latest === undefined) here(to("runs", id), seq);
      setPicked(latest === undefined ? node : undefined);
    },
    [steps, past, step, onStep, here, id, seq],
  );

  const cut = isInterrupted({ status, driven: run.driven });
  const questions = seq === undefined ? run.questions : (past?.at.questions ?? NO_QUESTIONS);
  const then = past?.at.status ?? status;
  const rejection = seq === undefined ? run.rejection : past?.at.rejection;
  const state = past?.state ?? live.state;
  const starts = useStarts(seq === undefined && !isOver(status) ? run : undefined);
  const starting = useMemo(() => (live.graph ? startingNodes(live.graph, state.nodes, state.taken, Object.keys(starts)) : undefined), [live.graph, state, starts]);
  const states = useMemo(
    () => overlay(state.nodes, { status: seq === undefined ? status : then, interrupted: seq === undefined && cut, rejection, questions, starting, open: unended }),
    [state.nodes, seq, status, then, cut, rejection, questions, starting, unended],
  );
  const times = useMemo(() => {
    const all = nodeTimes(steps, seq === undefined && !cut && !isOver(status), past?.at.at_ms);
    for (const node of starting ?? []) all[node] = { since_ms: starts[live.graph?.nodes.find((one) => one.id === node)?.tool?.split(":")[0] ?? ""] };
    return all;
  }, [steps, seq, cut, status, past, starting, starts, live.graph]);
  const asking = useMemo(() => (isOver(status) ? [] : run.questions.flatMap((question) => (question.node && question["kind"] !== "break" ? [question.node] : []))), [run.questions, status]);
  const drawn = useMemo(() => withQuestions(steps, asking, run.updated_ms), [steps, asking, run.updated_ms]);
  const ticks = (open || asking.length > 0) && !cut && !isOver(status);
  const now = useNow(ticks ? (steps.rows.length > MANY_STEPS ? TICK_MANY_MS : TICK_MS) : undefined);
  const graph = past?.graph ?? live.graph;
  const node = graph?.nodes.find((one) => one.id === selected);
  const around = questions[0]?.node ?? Object.keys(states).find((one) => MATTERS.has(states[one]?.status ?? "") || (states[one]?.status === "failed" && status === "failed"));
  const choose = useCallback((chosen: number) => (chosen === ASK_STEP ? onSelect(asking[0]) : onStep(chosen)), [onSelect, onStep, asking]);
  const present = seq === undefined;
  const side = (
    <aside className="run-side" aria-label="Details" tabIndex={-1}>
      {amended && (
        <p>
          <Link href={`${to("runs", id)}?plan`}>How the plan changed</Link>
        </p>
      )}
      {present && <Questions run={run} onAnswered={live.refresh} />}
      {rejection && <RejectionNote rejection={rejection} />}
      {step !== undefined && !picked ? (
        <Inspector
          run={id}
          step={step}
          until={seq}
          fresh={row && isOpen(row) ? Math.floor(live.state.at_ms / AGAIN_MS) : (row?.[2] ?? 0)}
          onSeq={onSeq}
          onPin={(of, output) => (isOver(status) ? storePin(run.workflow, of, output) : breaks.set([...breaks.all.filter((one) => one.node !== of), { node: of, output }]))}
        />
      ) : (
        node && (
          <NodeDetails node={node} status={states[node.id]?.status}>
            {questions
              .filter((question) => question.node === node.id)
              .map((question) => (
                <CallView key={question.checkpoint_id} question={question} />
              ))}
          </NodeDetails>
        )
      )}
      {present && node && !isOver(status) && (
        <>
          <BreakForm key={node.id} node={node.id} breakpoints={breaks.all} onChange={breaks.set} />
          {node.kind !== "entry" && node.kind !== "exit" && <PinForm key={`pin ${node.id}`} node={node.id} breakpoints={breaks.all} onChange={breaks.set} />}
        </>
      )}
      {present && !isOver(status) && <BreakpointList breakpoints={breaks.all} onChange={breaks.set} onSelect={onSelect} />}
      {present && <Failures run={run} />}
      {(!present || isHalted(run, status)) && <Watches run={id} workflow={run.workflow} seq={seq ?? last} scope={present ? Object.keys(states).filter((one) => states[one]?.status === "succeeded") : (past?.at.scope_keys ?? [])} />}
      {present && <Outcome run={run} open={!node && step === undefined} />}
      {!node && step === undefined && <p className="quiet">Click a node or a bar to see what happened there. Arrow keys move along the edges, / finds a node.</p>}
    </aside>
  );
  return (
    <section className="run" data-status={status} data-past={present ? undefined : true}>
      <RunHead run={run} status={status} linked={live.linked} onDone={live.refresh} past={past && !present ? { status: past.at.status, at_ms: past.at.at_ms } : undefined} node={selected} />
      {!present && <PastBanner seq={seq} last={last} past={past} onNow={() => onSeq(undefined)} />}
      {cut && present && (
        <div className="notice" role="status">
          <p>
            <strong>This run was interrupted:</strong> the process that drove it has ended. It continues where it was when you resume it.
          </p>
        </div>
      )}
      {wrong && <ErrorMessage wrong={wrong} />}
      <div className="run-body">
        <Split
          name="timeline"
          side="bottom"
          label="Height of the timeline"
          size={214}
          min={120}
          max={Math.max(260, Math.round(innerHeight * 0.6))}
          first={
            <Split
              name="inspector"
              side="right"
              label="Width of the details"
              size={392}
              min={280}
              max={Math.max(420, Math.round(innerWidth * 0.55))}
              first={
                <div className="run-graph">
                  {graph ? (
                    <GraphView
                      graph={graph}
                      name={`Graph of ${run.workflow}`}
                      states={states}
                      times={times}
                      around={around}
                      taken={state.taken}
                      selected={selected}
                      onSelect={onSelect}
                      onOpen={() => document.querySelector<HTMLElement>(".run-side")?.focus()}
                      breakpoints={breaks.shown}
                      onBreak={isOver(status) ? undefined : breaks.toggle}
                    />
                  ) : (
                    <Skeleton rows={4} />
                  )}
                </div>
              }
              second={side}
            />
          }
          second={
            <div className="run-steps">
              <TimeTravel seq={seq} last={last} past={past} live={!isOver(status)} onSeq={onSeq} />
              <div className="row step-view" role="group" aria-label="Step view">
                <button type="button" className="btn" data-small aria-pressed={!list} onClick={() => setList(false)}>
                  Timeline
                </button>
                <button type="button" className="btn" data-small aria-pressed={list} onClick={() => setList(true)}>
                  List
                </button>
              </div>
              {list ? (
                <StepList steps={steps} chosen={step} onChoose={onStep} />
              ) : (
                <Timeline steps={drawn} chosen={step} onChoose={choose} idle={idle} now_ms={ticks ? now : open ? live.state.at_ms : 0} at_ms={past?.at.at_ms} />
              )}
            </div>
          }
        />
      </div>
    </section>
  );
}

/** Since when each server is being started, in the time of this browser. */
function useStarts(run: Run | undefined): { [server: string]: number } {
  const known = useRef<{ [server: string]: number }>({});
  const now = run?.starting?.map((one) => one.server).join(" ") ?? "";
  return useMemo(() => {
    const next: { [server: string]: number } = {};
    for (const { server, elapsed_ms } of run?.starting ?? []) next[server] = known.current[server] ?? Date.now() - elapsed_ms;
    known.current = next;
    return next;
  }, [now]);
}

/** The breakpoints of a run, as the graph shows them and as they are set. */
function useBreakpoints(run: Run, refresh: () => void) {
  const all = useMemo(() => run.breakpoints ?? [], [run.breakpoints]);
  const set = useCallback(
    (next: Breakpoint[]) => {
      storeBreakpoints(run.workflow, next);
      void api.setBreakpoints(run.run_id, next).then(refresh, refresh);
    },
    [run.run_id, run.workflow, refresh],
  );
  const shown = useMemo(() => Object.fromEntries(all.map((one) => [one.node, isPin(one) ? PINNED : one.when === undefined ? (true as const) : JSON.stringify(one.when)])), [all]);
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
  const words = runStatusLook({ ...run, status }).words;
  useEffect(() => say(`${run.workflow}: ${words}${status === "paused" && asked ? `. ${asked}` : ""}`), [say, run.workflow, words, status, asked]);
}
