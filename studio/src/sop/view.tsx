// An SOP session: the flowchart with the path over it, the tasks, the rejections.
import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { Run, SopSession } from "../api/types";
import { GraphView } from "../graph/view";
import { StatusWord } from "../run/status";
import { useInterval } from "../shell/use-interval";
import { LoadView, useLoad } from "../shell/load";
import { count, duration } from "../shell/format";
import { SessionPanel } from "./session-panel";
import { sessionOverlay } from "./session-overlay";

/** How often an open session is refreshed. */
const EVERY_MS = 2_000;

export function SopSessionView({ run, refresh }: { run: Run; refresh: () => void }) {
  const walk = useLoad(() => api.sopSession(run.run_id), [run.run_id, run.events]);
  const over = run.outcome !== undefined && run.outcome !== null;
  useInterval(EVERY_MS, over ? undefined : () => (refresh(), walk.again()));
  return (
    <section className="run sop" data-status={run.status}>
      <header className="run-head">
        <h1>{run.workflow}</h1>
        <StatusWord of={run} />
        <code className="quiet">{run.run_id}</code>
        <span className="quiet">
          {count(run.steps, "move")} · {duration(run.updated_ms - run.started_ms)}
        </span>
      </header>
      <LoadView from={walk}>{(found) => <Chart walk={found} />}</LoadView>
    </section>
  );
}

function Chart({ walk }: { walk: SopSession }) {
  const [selected, setSelected] = useState<string>();
  const { taken, marks, remarks } = useMemo(() => sessionOverlay(walk), [walk]);
  return (
    <div className="run-body">
      <div className="run-graph">
        <GraphView graph={walk.procedure} name={`Flowchart of ${walk.procedure.name}`} taken={taken} marks={marks} remarks={remarks} selected={selected} onSelect={setSelected} />
      </div>
      <aside className="run-side" aria-label="SOP session" tabIndex={-1}>
        <SessionPanel walk={walk} selected={selected} onSelect={setSelected} />
      </aside>
    </div>
  );
}
