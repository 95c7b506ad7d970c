// The data of an expression: typed JSON, or the state of a run at a position of its journal.
import { useId } from "react";
import { api } from "../api/client";
import { useLoad } from "../shell/load";
import { moment } from "../shell/format";

export type DataChoice = { from: "json" | "run"; text: string; run: string; seq: string };

export function DataSource({ value, onChange }: { value: DataChoice; onChange: (value: DataChoice) => void }) {
  const id = useId();
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
          <label htmlFor={id}>JSON</label>
          <textarea id={id} rows={9} value={value.text} onChange={(event) => onChange({ ...value, text: event.target.value })} spellCheck={false} />
        </div>
      ) : (
        <RunChoice value={value} onChange={onChange} />
      )}
    </fieldset>
  );
}

function RunChoice({ value, onChange }: { value: DataChoice; onChange: (value: DataChoice) => void }) {
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
      {value.run && <ScopeKeys run={value.run} seq={Number(value.seq) || events} />}
    </>
  );
}

/** The names that an expression sees there. */
function ScopeKeys({ run, seq }: { run: string; seq?: number }) {
  const at = useLoad((signal) => (seq === undefined ? Promise.resolve(undefined) : api.snapshot(run, seq, signal)), [run, seq]);
  const keys = at.value?.scope_keys;
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
