// The data of an expression: typed JSON, or the state of a run at a position of its journal.
import { useEffect } from "react";
import { api } from "../api/client";
import { useLoad } from "../shell/load";
import { moment } from "../shell/format";
import { ExpressionEditor } from "./expression-editor";

export type DataChoice = { from: "json" | "run"; text: string; run: string; seq: string };

type Props = { value: DataChoice; onChange: (value: DataChoice) => void; /** The names that an expression sees there. */ onNames?: (names: string[]) => void };

export function DataSource({ value, onChange, onNames }: Props) {
  useEffect(() => {
    if (value.from === "json") onNames?.(topNames(value.text));
  }, [value.from, value.text]);
  return (
    <fieldset className="group">
      <legend>Data</legend>
      <div className="row" role="group" aria-label="Data source">
        <button type="button" aria-pressed={value.from === "json"} onClick={() => onChange({ ...value, from: "json" })}>
          JSON
        </button>
        <button type="button" aria-pressed={value.from === "run"} onClick={() => onChange({ ...value, from: "run" })}>
          A run
        </button>
      </div>
      {value.from === "json" ? (
        <div className="field">
          <span className="unseen">JSON</span>
          <ExpressionEditor label="JSON" language="json" value={value.text} onChange={(text) => onChange({ ...value, text })} />
        </div>
      ) : (
        <RunChoice value={value} onChange={onChange} onNames={onNames} />
      )}
    </fieldset>
  );
}

/** The names at the top of typed JSON. */
function topNames(text: string): string[] {
  try {
    const value = JSON.parse(text) as unknown;
    return value !== null && typeof value === "object" && !Array.isArray(value) ? Object.keys(value) : [];
  } catch {
    return [];
  }
}

function RunChoice({ value, onChange, onNames }: Props) {
  const runs = useLoad(() => api.runs({ most: 100 }), []);
  const known = runs.value?.runs ?? [];
  const events = known.find((one) => one.run_id === value.run)?.events;
  return (
    <>
      <div className="field">
        <label htmlFor="data-run">Run</label>
        <select id="data-run" value={value.run} onChange={(event) => onChange({ ...value, run: event.target.value, seq: "" })}>
          <option value="">a run…</option>
          {value.run && !known.some((one) => one.run_id === value.run) && <option value={value.run}>{value.run}</option>}
          {known.map((one) => (
            <option key={one.run_id} value={one.run_id}>
              {one.workflow} · {one.status} · {moment(one.started_ms)}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor="data-seq">State after event</label>
        <input id="data-seq" inputMode="numeric" placeholder={events === undefined ? "the last" : `${events} (the last)`} value={value.seq} onChange={(event) => onChange({ ...value, seq: event.target.value.replace(/\D/g, "") })} />
      </div>
      {value.run && <ScopeKeys run={value.run} seq={Number(value.seq) || events} onNames={onNames} />}
    </>
  );
}

/** The names that an expression sees there. */
function ScopeKeys({ run, seq, onNames }: { run: string; seq?: number; onNames?: (names: string[]) => void }) {
  const at = useLoad((signal) => (seq === undefined ? Promise.resolve(undefined) : api.snapshot(run, seq, signal)), [run, seq]);
  const keys = at.value?.scope_keys;
  useEffect(() => onNames?.(keys ?? []), [keys]);
  if (!keys) return null;
  return (
    <p className="quiet">
      Expressions see{" "}
      {keys.length === 0
        ? "nothing yet"
        : keys.slice(0, 40).map((key, index) => (
            <span key={key}>
              {index > 0 && ", "}
              <code>{key}</code>
            </span>
          ))}
      .
    </p>
  );
}
