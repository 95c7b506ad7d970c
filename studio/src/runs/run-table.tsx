// The table of runs, of which two can be selected for comparison.
import type { RunRow } from "../api/types";
import { Link, to } from "../router";
import { StatusWord } from "../run/status";
import { duration, moment } from "../shell/format";
import { ExportRun } from "./export-import";

type Props = { runs: RunRow[]; picked: string[]; onPick: (run: string) => void; onWrong: (wrong: Error) => void };

export function RunTable({ runs, picked, onPick, onWrong }: Props) {
  return (
    <div className="scroll" role="region" aria-label="List of runs" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Select</th>
            <th scope="col">Run</th>
            <th scope="col">Workflow</th>
            <th scope="col">Status</th>
            <th scope="col">Started</th>
            <th scope="col">Duration</th>
            <th scope="col">Session</th>
            <th scope="col">Events</th>
            <th scope="col">File</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.run_id} data-run={run.run_id}>
              <td>
                <input type="checkbox" aria-label={`Select ${run.run_id} to compare`} checked={picked.includes(run.run_id)} disabled={picked.length > 1 && !picked.includes(run.run_id)} onChange={() => onPick(run.run_id)} />
              </td>
              <td>
                <Link href={to("runs", run.run_id)}>
                  <code>{run.run_id}</code>
                </Link>
              </td>
              <td>{run.workflow}</td>
              <td>
                <StatusWord status={run.status} />
              </td>
              <td>{moment(run.started_ms)}</td>
              <td>{duration(run.updated_ms - run.started_ms)}</td>
              <td>{run.session_id}</td>
              <td className="number">{run.events.toLocaleString("en")}</td>
              <td>
                <ExportRun run={run.run_id} onWrong={onWrong} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
