// Halting a run: pause, one step, on, stop; and where it is to halt by itself.
import { useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Run } from "../api/types";
import { Trouble } from "../shell/load";

const OVER = new Set(["completed", "failed", "rejected", "aborted", "stalled", "expired"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

type Props = { run: Run; status: string; onDone: () => void };

/** Whether the run halts for whoever debugs it, and not for an answer. */
export function halted(run: Run): boolean {
  return run.status === "paused" && run.questions.some((question) => HALTS.has(String(question["kind"] ?? question["type"] ?? question["reason"] ?? "")));
}
const HALTS = new Set(["break", "halt", "breakpoint", "step", "halted"]);

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
  const waits = status === "paused";
  return (
    <>
      <div className="row" role="toolbar" aria-label="Debugger">
        <button type="button" disabled={busy || waits} onClick={() => act(() => api.pause(run.run_id))}>
          ‖ Pause
        </button>
        <button type="button" disabled={busy || !waits} onClick={() => act(() => api.stepOn(run.run_id))}>
          ⤵ Step
        </button>
        <button type="button" disabled={busy || !waits} onClick={() => act(() => api.goOn(run.run_id))}>
          ▶ Continue
        </button>
        <button type="button" className="stop" disabled={busy} onClick={() => act(() => api.abort(run.run_id, "stopped in the studio"))}>
          ■ Stop
        </button>
      </div>
      {wrong && <Trouble wrong={wrong} />}
    </>
  );
}

type BreakProps = { node: string; breakpoints: Breakpoint[]; onChange: (breakpoints: Breakpoint[]) => void };

/** Whether a run halts before a node, and when. */
export function BreakForm({ node, breakpoints, onChange }: BreakProps) {
  const known = breakpoints.find((one) => one.node === node);
  const [when, setWhen] = useState(known?.when ?? "");
  const others = breakpoints.filter((one) => one.node !== node);
  const set = (on: boolean, condition: string) => onChange(on ? [...others, { node, ...(condition.trim() ? { when: condition.trim() } : {}) }] : others);
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
        <input type="checkbox" checked={!!known} onChange={(event) => set(event.target.checked, when)} /> Halt before this node
      </label>
      <label>
        Only when (JSONata)
        <input value={when} onChange={(event) => setWhen(event.target.value)} placeholder="always" spellCheck={false} />
      </label>
      {(known?.when ?? "") !== when.trim() && <button type="submit">Set the condition</button>}
    </form>
  );
}
