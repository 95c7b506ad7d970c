// The filter of the list of runs. Every filter is a link, and can be kept under a name.
import { useEffect, useState } from "react";
import { Link, to } from "../router";
import { Icon } from "../ui/icon";
import { Menu } from "../ui/menu";
import { runStatusLook } from "../run/run-status";
import { INTERRUPTED, isFiltered, searchOf, statusWords, type RunFilter } from "./filter";
import { removeView, saveView, useViews } from "./saved-views";

/** The list is fetched after this long without typing. */
const TYPING_MS = 300;

type Props = { filter: RunFilter; statuses: string[]; workflows: string[]; onChange: (filter: RunFilter) => void };

export function RunFilters({ filter, statuses, workflows, onChange }: Props) {
  const change = (part: Partial<RunFilter>) => onChange({ ...filter, ...part, after: "" });
  const [more, setMore] = useState(!!(filter.session || filter.since || filter.until));
  const views = useViews();
  return (
    <search className="filters" aria-label="Filter the list">
      <div className="row">
        <DelayedInput label="Search" placeholder="Name, id, input, result or error" value={filter.text} onTyped={(text) => change({ text })} />
        <DelayedInput label="Workflow" placeholder="Any workflow" list={workflows} value={filter.workflow} onTyped={(workflow) => change({ workflow })} />
        <button type="button" aria-expanded={more} onClick={() => setMore(!more)}>
          More filters
        </button>
        <Menu
          label="Views"
          icon="rows"
          items={[
            { label: "Save this view…", icon: "plus", disabled: !isFiltered(filter), onPick: () => nameView(searchOf({ ...filter, after: "" })) },
            ...(views.length ? (["line"] as const) : []),
            ...views.map((view) => ({ label: view.name, icon: "rows" as const, onPick: () => onChange({ ...filterFrom(view.search) }) })),
            ...(views.length ? (["line"] as const) : []),
            ...views.map((view) => ({ label: `Remove “${view.name}”`, icon: "trash" as const, danger: true, onPick: () => removeView(view.name) })),
          ]}
        />
      </div>
      {more && (
        <div className="row">
          <DelayedInput label="Session" placeholder="Any session" value={filter.session} onTyped={(session) => change({ session })} />
          <label>
            <span>From</span>
            <input type="date" value={filter.since} onChange={(event) => change({ since: event.target.value })} />
          </label>
          <label>
            <span>To</span>
            <input type="date" value={filter.until} onChange={(event) => change({ until: event.target.value })} />
          </label>
        </div>
      )}
      <div className="row" role="group" aria-label="Status">
        {statusWords(statuses).map((status) => (
          <StatusLink key={status} status={status} filter={filter} />
        ))}
        {isFiltered(filter) && (
          <Link className="btn" data-small data-bare href={to("runs")}>
            <Icon name="close" size={14} /> Show all
          </Link>
        )}
      </div>
    </search>
  );

  function filterFrom(search: string): RunFilter {
    const given = new URLSearchParams(search);
    const text = (name: string) => given.get(name) ?? "";
    return { status: text("status").split(",").filter(Boolean), workflow: text("workflow"), session: text("session"), text: text("text"), since: text("since"), until: text("until"), after: "" };
  }
}

/** Asks for a name; an empty one keeps nothing. */
function nameView(search: string): void {
  const name = prompt("Name of this view")?.trim();
  if (name) saveView({ name, search });
}

/** Adds or removes a status, as a link to the resulting list. */
function StatusLink({ status, filter }: { status: string; filter: RunFilter }) {
  const on = filter.status.includes(status);
  const next = on ? filter.status.filter((one) => one !== status) : [...filter.status, status];
  const words = runStatusLook(status === INTERRUPTED ? { status: "running", driven: false } : { status }).words;
  return (
    <Link className="btn filter" data-small aria-current={on ? "true" : undefined} href={to("runs") + searchOf({ ...filter, status: next, after: "" })}>
      {on && <Icon name="check" size={13} />}
      {words}
    </Link>
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
      <span className="unseen">{label}</span>
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
