// Watch expressions: their values at the event that is shown. They are kept per workflow, like breakpoints.
import { useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, EvaluationResult, Json } from "../api/types";
import { Link, to } from "../router";
import { useLoad } from "../shell/load";
import { readStored, store } from "../shell/stored";
import { Icon } from "../ui/icon";
import { Tree } from "../value/tree";

const WATCHES = "tramline-watches:";
const BREAKPOINTS = "tramline-breakpoints:";
const WATCHES_MAX = 20;

function storedList<T>(key: string, isOne: (one: unknown) => one is T): T[] {
  try {
    const found = JSON.parse(readStored(key) ?? "[]") as unknown;
    return Array.isArray(found) ? found.filter(isOne) : [];
  } catch {
    return [];
  }
}

/** The breakpoints that were last set for a workflow. */
export function storedBreakpoints(workflow: string): Breakpoint[] {
  return storedList(BREAKPOINTS + workflow, (one): one is Breakpoint => typeof (one as Breakpoint | null)?.node === "string");
}

export function storeBreakpoints(workflow: string, breakpoints: Breakpoint[]): void {
  store(BREAKPOINTS + workflow, JSON.stringify(breakpoints));
}

type Props = { run: string; workflow: string; /** The event whose state is evaluated. */ seq: number; /** The names that expressions see. */ scope: string[] };

export function Watches({ run, workflow, seq, scope }: Props) {
  const key = WATCHES + workflow;
  const [all, setAll] = useState(() => storedList(key, (one): one is string => typeof one === "string"));
  const [typed, setTyped] = useState("");
  const change = (next: string[]) => {
    setAll(next);
    store(key, JSON.stringify(next));
  };
  const add = (expression: string) => expression.trim() !== "" && !all.includes(expression.trim()) && change([...all, expression.trim()].slice(-WATCHES_MAX));
  return (
    <details className="part watches" open>
      <summary>Scope and watch</summary>
      {scope.length > 0 ? (
        <div className="row" role="group" aria-label="Scope">
          {scope.map((name) => (
            <button key={name} type="button" className="chip" title={`Watch ${name}`} onClick={() => add(name)}>
              {name}
            </button>
          ))}
        </div>
      ) : (
        <p className="quiet">No node has an output yet.</p>
      )}
      <ul className="plain">
        {all.map((expression) => (
          <li key={expression}>
            <Watch run={run} seq={seq} expression={expression} onRemove={() => change(all.filter((one) => one !== expression))} />
          </li>
        ))}
      </ul>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          add(typed);
          setTyped("");
        }}
      >
        <input aria-label="Watch an expression" placeholder="Watch an expression (JSONata)" value={typed} spellCheck={false} onChange={(event) => setTyped(event.target.value)} />
        <button type="submit" disabled={typed.trim() === ""}>
          Watch
        </button>
      </form>
    </details>
  );
}

function Watch({ run, seq, expression, onRemove }: { run: string; seq: number; expression: string; onRemove: () => void }) {
  const found = useLoad((signal) => api.evaluate({ language: "jsonata", expression, run_id: run, seq }, signal), [run, seq, expression]);
  return (
    <div className="watch">
      <Link href={`${to("playground")}?run=${encodeURIComponent(run)}&seq=${seq}&expression=${encodeURIComponent(expression)}`} title="Open in the playground">
        <code>{expression}</code>
      </Link>
      <button type="button" className="btn" data-bare data-small aria-label={`Stop watching ${expression}`} onClick={onRemove}>
        <Icon name="close" size={13} />
      </button>
      <WatchValue result={found.value} wrong={found.wrong} expression={expression} />
    </div>
  );
}

function WatchValue({ result, wrong, expression }: { result?: EvaluationResult; wrong?: Error; expression: string }) {
  if (wrong) return <p className="hint">{wrong.message}</p>;
  if (!result) return <p className="quiet">…</p>;
  if (result.error) return <p className="hint">{result.error.message}</p>;
  if (result.undefined) return <p className="quiet">no value</p>;
  return <Tree value={result.value as Json} label={`Value of ${expression}`} />;
}
