// The table of runs: name first, then how it stands, what came of it, when, and how long it took.
import { api } from "../api/client";
import type { RunRow } from "../api/types";
import { Link, to, useRouter } from "../router";
import { isInterrupted, isOver, startOfRun } from "../run/run-status";
import { StatusWord } from "../run/status";
import { clock, duration } from "../shell/format";
import { Icon } from "../ui/icon";
import { Menu } from "../ui/menu";
import { Ago, useNow } from "../ui/time";
import { copy } from "../ui/toast";
import { exportRun } from "./export-import";

type Props = { runs: RunRow[]; picked: string[]; onPick: (run: string) => void; onWrong: (wrong: Error) => void; onDone: () => void };

export function RunTable({ runs, picked, onPick, onWrong, onDone }: Props) {
  const longest = Math.max(1, ...runs.map((run) => run.updated_ms - startOfRun(run)));
  return (
    <div className="card scroll" role="region" aria-label="List of runs" tabIndex={0}>
      <table className="runs">
        <thead>
          <tr>
            <th scope="col">
              <span className="unseen">Select</span>
            </th>
            <th scope="col">Run</th>
            <th scope="col">Status</th>
            <th scope="col">Result or error</th>
            <th scope="col">Started</th>
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row key={run.run_id} run={run} longest={longest} picked={picked} onPick={onPick} onWrong={onWrong} onDone={onDone} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ run, longest, picked, onPick, onWrong, onDone }: { run: RunRow; longest: number } & Omit<Props, "runs">) {
  const { go } = useRouter();
  const id = run.run_id;
  const cut = isInterrupted(run);
  const resume = () => api.continueRun(id).then(onDone, onWrong);
  return (
    <tr data-run={id}>
      <td className="pick">
        <input type="checkbox" aria-label={`Select ${id} to compare`} checked={picked.includes(id)} disabled={picked.length > 1 && !picked.includes(id)} onChange={() => onPick(id)} />
      </td>
      <td className="who">
        <Link href={to("runs", id)}>{run.workflow}</Link>
        <span className="quiet preview" title={run.input_preview}>
          {run.input_preview || (run.session_id ? `session ${run.session_id}` : id)}
        </span>
      </td>
      <td className="how">
        <StatusWord of={run} />
      </td>
      <td className="what">
        <span className="preview" title={run.outcome_preview} data-bad={run.status === "failed" || undefined}>
          {run.outcome_preview || (run.status === "paused" ? <Link href={to("runs", id)}>Open to answer</Link> : <span className="quiet">—</span>)}
        </span>
        {run.session_id && run.input_preview && <span className="quiet preview">session {run.session_id}</span>}
      </td>
      <td className="when">
        <Ago ms={startOfRun(run)} />
      </td>
      <td className="number long">
        <Took run={run} />
        <span className="bar" aria-hidden="true">
          <i style={{ width: `${Math.max(2, ((run.updated_ms - startOfRun(run)) / longest) * 100)}%` }} />
        </span>
      </td>
      <td className="acts">
        {cut && (
          <button type="button" className="btn" data-small onClick={() => void resume()}>
            <Icon name="play" size={13} /> Resume
          </button>
        )}
        <Menu
          label={`Actions of ${id}`}
          bare
          small
          items={[
            { label: "Open", icon: "arrow", onPick: () => go(to("runs", id)) },
            { label: "Run again with another input…", icon: "refresh", onPick: () => go(`${to("tools", run.workflow)}?from=${encodeURIComponent(id)}`) },
            { label: "Copy the id", icon: "copy", hint: id, onPick: () => copy(id, "Run id") },
            { label: "Export as file", icon: "download", onPick: () => void exportRun(id).catch(onWrong) },
            ...(isOver(run.status) || run.kind === "guided" ? [] : (["line", { label: "Stop the run", icon: "stop", danger: true, onPick: () => void api.abort(id, "stopped in the studio").then(onDone, onWrong) }] as const)),
          ]}
        >
          <Icon name="down" />
        </Menu>
      </td>
    </tr>
  );
}

/** How long a run took; one that is going ticks. */
function Took({ run }: { run: RunRow }) {
  const ticks = !isOver(run.status) && !isInterrupted(run);
  const now = useNow(ticks ? 1_000 : undefined);
  const start = startOfRun(run);
  return ticks ? <span className="clock">{clock(now - start)}</span> : <span>{duration(Math.max(0, run.updated_ms - start))}</span>;
}
