// The fields that narrow the list of runs.
import { useEffect, useState } from "react";
import { isNarrowed, STATES, type Filter } from "./filter";

/** After so long without a further letter the list is asked for. */
const TYPING_MS = 300;

export function Filters({ filter, workflows, onChange }: { filter: Filter; workflows: string[]; onChange: (filter: Filter) => void }) {
  const change = (part: Partial<Filter>) => onChange({ ...filter, ...part, after: "" });
  const toggle = (status: string) => change({ status: filter.status.includes(status) ? filter.status.filter((one) => one !== status) : [...filter.status, status] });
  return (
    <search className="filters" aria-label="Narrow the list">
      <Typed label="Search" placeholder="id, workflow, session" value={filter.text} onTyped={(text) => change({ text })} />
      <Typed label="Workflow" list={workflows} value={filter.workflow} onTyped={(workflow) => change({ workflow })} />
      <Typed label="Session" value={filter.session} onTyped={(session) => change({ session })} />
      <label>
        From
        <input type="date" value={filter.since} onChange={(event) => change({ since: event.target.value })} />
      </label>
      <label>
        To
        <input type="date" value={filter.until} onChange={(event) => change({ until: event.target.value })} />
      </label>
      <div className="row" role="group" aria-label="Status">
        {STATES.map((status) => (
          <button key={status} type="button" aria-pressed={filter.status.includes(status)} onClick={() => toggle(status)}>
            {status}
          </button>
        ))}
        {isNarrowed(filter) && (
          <button type="button" onClick={() => change({ status: [], workflow: "", session: "", text: "", since: "", until: "" })}>
            Show all
          </button>
        )}
      </div>
    </search>
  );
}

type TypedProps = { label: string; value: string; placeholder?: string; list?: string[]; onTyped: (text: string) => void };

/** A text that counts once typing pauses. */
function Typed({ label, value, placeholder, list, onTyped }: TypedProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onTyped(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
    // Only what is typed starts the wait.
  }, [typed]);
  const names = list && `filter-${label}`;
  return (
    <label>
      {label}
      <input type="search" value={typed} placeholder={placeholder} list={names} onChange={(event) => setTyped(event.target.value)} />
      {names && (
        <datalist id={names}>
          {list.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </label>
  );
}
