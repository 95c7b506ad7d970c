// The debugger: pause, step, continue, stop, and breakpoints.
import { useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Json, Run } from "../api/types";
import { ErrorMessage } from "../shell/load";
import { Icon } from "../ui/icon";
import { isInterrupted, isOver } from "./run-status";

type Props = { run: Run; status: string; onDone: () => void };

/** Whether a run is halted so that it can be stepped: at a breakpoint, before its first step, or between layers. */
export function isHalted(run: Run, status: string): boolean {
  if (status !== "paused") return false;
  return run.questions.length === 0 || run.questions.some((question) => question["kind"] === "break" || question["kind"] === "layer");
}

export function Debugger({ run, status, onDone }: Props) {
  const [wrong, setWrong] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const act = (what: () => Promise<unknown>) => {
    setBusy(true);
    what()
      .then(() => setWrong(undefined), setWrong)
      .finally(() => {
        setBusy(false);
        onDone();
      });
  };
  if (isOver(status)) return null;
  const cut = isInterrupted({ status, driven: run.driven });
  const halted = isHalted(run, status);
  const asks = status === "paused" && !halted;
  return (
    <>
      <div className="row" role="toolbar" aria-label="Debugger">
        {cut ? (
          <button type="button" className="go" disabled={busy} onClick={() => act(() => api.continueRun(run.run_id))}>
            <Icon name="play" /> Resume
          </button>
        ) : (
          <>
            <button type="button" disabled={busy || status === "paused"} title="Halt before the next step" onClick={() => act(() => api.pause(run.run_id))}>
              <Icon name="pause" /> Pause
            </button>
            <button type="button" disabled={busy || !halted} title={asks ? "Answer the question first" : "Run one step"} onClick={() => act(() => api.stepRun(run.run_id))}>
              <Icon name="step" /> Step
            </button>
            <button type="button" disabled={busy || !halted} title={asks ? "Answer the question first" : "Run to the next breakpoint"} onClick={() => act(() => api.continueRun(run.run_id))}>
              <Icon name="play" /> Continue
            </button>
          </>
        )}
        <button type="button" className="stop" disabled={busy} onClick={() => act(() => api.abort(run.run_id, "stopped in the studio"))}>
          <Icon name="stop" /> Stop
        </button>
      </div>
      {wrong && <ErrorMessage wrong={wrong} />}
    </>
  );
}

/** JSON that starts with a brace is a JSON Logic rule, everything else JSONata. */
function rule(text: string): Json | undefined {
  if (text === "") return undefined;
  try {
    return text.startsWith("{") ? (JSON.parse(text) as Json) : text;
  } catch {
    return text;
  }
}

/** All breakpoints and pinned outputs of a run. */
export function BreakpointList({ breakpoints, onChange, onSelect }: { breakpoints: Breakpoint[]; onChange: (breakpoints: Breakpoint[]) => void; onSelect: (node: string) => void }) {
  if (breakpoints.length === 0) return null;
  return (
    <details className="part breakpoints" open>
      <summary>Breakpoints and pins</summary>
      <ul className="plain" aria-label="Breakpoints">
        {breakpoints.map((one) => (
          <li key={one.node}>
            <span className="break-sign" data-pinned={one.output !== undefined || undefined} aria-hidden="true" />
            <button type="button" className="link" onClick={() => onSelect(one.node)}>
              {one.node}
            </button>
            <span className="quiet clamp-1">{one.output !== undefined ? `pinned: ${JSON.stringify(one.output)}` : one.when === undefined ? "" : `when ${typeof one.when === "string" ? one.when : JSON.stringify(one.when)}`}</span>
            <button type="button" className="btn" data-small data-bare aria-label={`Remove the breakpoint at ${one.node}`} onClick={() => onChange(breakpoints.filter((other) => other !== one))}>
              <Icon name="close" size={13} />
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

type BreakProps = { node: string; breakpoints: Breakpoint[]; onChange: (breakpoints: Breakpoint[]) => void };

/** Whether a run halts before a node, and when. */
export function BreakForm({ node, breakpoints, onChange }: BreakProps) {
  const known = breakpoints.find((one) => one.node === node);
  const kept = known?.when === undefined ? "" : typeof known.when === "string" ? known.when : JSON.stringify(known.when);
  const [when, setWhen] = useState(kept);
  const others = breakpoints.filter((one) => one.node !== node);
  const set = (on: boolean, condition: string) => onChange(on ? [...others, { node, when: rule(condition.trim()) }] : others);
  return (
    <form
      className="form break-form"
      aria-label="Breakpoint"
      onSubmit={(event) => {
        event.preventDefault();
        set(true, when);
      }}
    >
      <label className="line">
        <input type="checkbox" checked={!!known} onChange={(event) => set(event.target.checked, when)} /> Breakpoint: halt before this node
      </label>
      <label>
        Only when (JSONata, or a JSON Logic rule)
        <input value={when} onChange={(event) => setWhen(event.target.value)} placeholder="always" spellCheck={false} />
      </label>
      {kept !== when.trim() && <button type="submit">Set the condition</button>}
    </form>
  );
}
