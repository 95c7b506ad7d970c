// The filter fields of the list of runs.
import { useEffect, useState } from "react";
import { isFiltered, STATUSES, type RunFilter } from "./filter";

/** The list is fetched after this long without typing. */
const TYPING_MS = 300;

export function RunFilters({ filter, workflows, onChange }: { filter: RunFilter; workflows: string[]; onChange: (filter: RunFilter) => void }) {
  const change = (part: Partial<RunFilter>) => onChange({ ...filter, ...part, after: "" });
  const toggle = (status: string) => change({ status: filter.status.includes(status) ? filter.status.filter((one) => one !== status) : [...filter.status, status] });
  return (
    <search className="filters" aria-label="Filter the list">
      <DelayedInput label="Search" placeholder="id, workflow, session" value={filter.text} onTyped={(text) => change({ text })} />
      <DelayedInput label="Workflow" list={workflows} value={filter.workflow} onTyped={(workflow) => change({ workflow })} />
      <DelayedInput label="Session" value={filter.session} onTyped={(session) => change({ session })} />
      <label>
        From
        <input type="date" value={filter.since} onChange={(event) => change({ since: event.target.value })} />
      </label>
      <label>
        To
        <input type="date" value={filter.until} onChange={(event) => change({ until: event.target.value })} />
      </label>
      <div className="row" role="group" aria-label="Status">
        {STATUSES.map((status) => (
          <button key={status} type="button" aria-pressed={filter.status.includes(status)} onClick={() => toggle(status)}>
            {status}
          </button>
        ))}
        {isFiltered(filter) && (
          <button type="button" onClick={() => change({ status: [], workflow: "", session: "", text: "", since: "", until: "" })}>
            Show all
          </button>
        )}
      </div>
    </search>
  );
}

type DelayedInputProps = { label: string; value: string; placeholder?: string; list?: string[]; onTyped: (text: string) => void };

/** A text field that takes effect once typing pauses. */
function DelayedInput({ label, value, placeholder, list, onTyped }: DelayedInputProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onTyped(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
    // Only typing starts the delay.
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
