// The debugger: pause, step, continue, stop, and breakpoints.
import { useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Json, Run } from "../api/types";
import { ErrorMessage } from "../shell/load";

const OVER = new Set(["completed", "failed", "rejected", "aborted", "stalled", "expired"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

type Props = { run: Run; status: string; onDone: () => void };

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
        <button type="button" disabled={busy || !waits} onClick={() => act(() => api.stepRun(run.run_id))}>
          ⤵ Step
        </button>
        <button type="button" disabled={busy || !waits} onClick={() => act(() => api.continueRun(run.run_id))}>
          ▶ Continue
        </button>
        <button type="button" className="stop" disabled={busy} onClick={() => act(() => api.abort(run.run_id, "stopped in the studio"))}>
          ■ Stop
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
        <input type="checkbox" checked={!!known} onChange={(event) => set(event.target.checked, when)} /> Halt before this node
      </label>
      <label>
        Only when (JSONata, or a JSON Logic rule)
        <input value={when} onChange={(event) => setWhen(event.target.value)} placeholder="always" spellCheck={false} />
      </label>
      {kept !== when.trim() && <button type="submit">Set the condition</button>}
    </form>
  );
}
