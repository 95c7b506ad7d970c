// A fork: a new run with the history of this one up to a step, whose output can be changed.
import { useState } from "react";
import { api } from "../api/client";
import type { Json, StepView } from "../api/types";
import { to, useRouter } from "../router";
import { ErrorMessage } from "../shell/load";

export function ForkForm({ run, view }: { run: string; view: StepView }) {
  const { go } = useRouter();
  const whole = JSON.stringify(view.output ?? null, null, 2);
  const [text, setText] = useState(whole);
  const [wrong, setWrong] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const fork = async () => {
    setBusy(true);
    try {
      const output = text === whole ? undefined : (JSON.parse(text) as Json);
      const { run_id } = await api.fork(run, { step: view.step, output });
      go(to("runs", run_id));
    } catch (caught) {
      setWrong(caught as Error);
      setBusy(false);
    }
  };
  return (
    <form
      className="form fork"
      onSubmit={(event) => {
        event.preventDefault();
        void fork();
      }}
    >
      <p className="quiet">
        A fork is a new run with the history up to this step. Later calls are made again; before a call that must not be repeated, the fork
        asks you.
      </p>
      <label>
        Output of step {view.step} in the fork
        <textarea rows={Math.min(14, text.split("\n").length + 1)} value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} />
      </label>
      {wrong && <ErrorMessage wrong={wrong} />}
      <button type="submit" className="go" disabled={busy}>
        Fork
      </button>
    </form>
  );
}
