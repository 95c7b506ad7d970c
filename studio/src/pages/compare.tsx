// Two runs side by side: what was the same, what came out otherwise.
import { useState } from "react";
import { api } from "../api/client";
import type { Compared, Json } from "../api/types";
import { Link, to, useRouter } from "../router";
import { Show, useLoad } from "../shell/load";
import { count } from "../shell/words";
import { Tree } from "../value/tree";

/** So many rows are shown at once. */
const ROWS = 200;

export function Compare() {
  const { search, go } = useRouter();
  const given = new URLSearchParams(search);
  const [left, right] = [given.get("left") ?? "", given.get("right") ?? ""];
  const pick = (side: "left" | "right", run: string) => {
    given.set(side, run);
    go(`${to("compare")}?${given}`, { replace: true });
  };
  return (
    <section className="page">
      <h1>Two runs compared</h1>
      <div className="row">
        <Pick side="left" run={left} onPick={pick} />
        <Pick side="right" run={right} onPick={pick} />
      </div>
      {left && right ? <Both left={left} right={right} /> : <p className="quiet">Choose two runs.</p>}
    </section>
  );
}

function Pick({ side, run, onPick }: { side: "left" | "right"; run: string; onPick: (side: "left" | "right", run: string) => void }) {
  const runs = useLoad(() => api.runs({ most: 100 }), []);
  const known = runs.value?.runs ?? [];
  return (
    <label>
      {side === "left" ? "Left" : "Right"}{" "}
      <select value={run} onChange={(event) => onPick(side, event.target.value)}>
        <option value="">a run…</option>
        {run && !known.some((one) => one.run_id === run) && <option value={run}>{run}</option>}
        {known.map((one) => (
          <option key={one.run_id} value={one.run_id}>
            {one.workflow} · {one.status} · {one.run_id}
          </option>
        ))}
      </select>
    </label>
  );
}

function Both({ left, right }: { left: string; right: string }) {
  const compared = useLoad(() => api.compare(left, right), [left, right]);
  const [all, setAll] = useState(false);
  return (
    <Show from={compared}>
      {(found) => {
        const differ = found.steps.filter((step) => !step.same).length;
        const rows = found.steps.filter((step) => all || !step.same);
        return (
          <>
            <p role="status">
              {differ === 0 ? "They do not differ." : `${count(differ, "step")} of ${found.steps.length} differ.`}{" "}
              <label>
                <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> also what is the same
              </label>
            </p>
            <Rows rows={rows.slice(0, ROWS)} left={left} right={right} />
            {rows.length > ROWS && <p className="quiet">{count(rows.length - ROWS, "more row")} not shown.</p>}
          </>
        );
      }}
    </Show>
  );
}

function Rows({ rows, left, right }: { rows: Compared["steps"]; left: string; right: string }) {
  if (rows.length === 0) return null;
  return (
    <table className="compare">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col"></th>
          <th scope="col">
            <Link href={to("runs", left)}>Left</Link>
          </th>
          <th scope="col">
            <Link href={to("runs", right)}>Right</Link>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index} data-same={row.same}>
            <th scope="row">{row.node}</th>
            <td>{row.same ? "= same" : "≠ differs"}</td>
            <td>{side(row.left)}</td>
            <td>{side(row.right)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function side(value: Json | undefined) {
  return value === undefined || value === null ? <span className="quiet">not there</span> : <Tree value={value} label="Step" />;
}
