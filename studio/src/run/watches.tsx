// Watch expressions: their values at the event that is shown. They are kept per workflow, like breakpoints.
import { useState } from "react";
import { api } from "../api/client";
import type { EvaluationResult, Json } from "../api/types";
import { Link, to } from "../router";
import { useLoad } from "../shell/load";
import { store } from "../shell/stored";
import { Icon } from "../ui/icon";
import { Tree } from "../value/tree";
import { nameInJsonata } from "./jsonata-name";
import { storedList } from "./stored-breakpoints";

const WATCHES = "tramline-watches:";
const WATCHES_MAX = 20;

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
        <ul className="plain scope" aria-label="Scope">
          {scope.map((name) => (
            <li key={name}>
              <ScopeValue run={run} seq={seq} name={name} />
              <button type="button" className="btn" data-small data-bare title={`Watch ${name}`} aria-label={`Watch ${name}`} onClick={() => add(nameInJsonata(name))}>
                <Icon name="plus" size={13} />
              </button>
            </li>
          ))}
        </ul>
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

/** A name that expressions can see; its value is loaded when it is opened. */
function ScopeValue({ run, seq, name }: { run: string; seq: number; name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{name}</code>
      </summary>
      {open && <LoadedScopeValue run={run} seq={seq} name={name} />}
    </details>
  );
}

function LoadedScopeValue({ run, seq, name }: { run: string; seq: number; name: string }) {
  const found = useLoad((signal) => api.evaluate({ language: "jsonata", expression: nameInJsonata(name), run_id: run, seq }, signal), [run, seq, name]);
  return <WatchValue result={found.value} wrong={found.wrong} expression={name} />;
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
