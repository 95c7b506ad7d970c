// A guided run: the flowchart with the walk over it, what is to be done, what was refused.
import { useMemo, useState } from "react";
import { api } from "../api/client";
import type { Run, Walk } from "../api/types";
import { GraphView } from "../graph/view";
import { StatusWord } from "../run/status";
import { useEvery } from "../shell/every";
import { Show, useLoad } from "../shell/load";
import { count, duration } from "../shell/words";
import { Facts } from "./facts";
import { walked } from "./walked";

/** How often it is asked where the walk stands while it goes on. */
const EVERY_MS = 2_000;

export function SopView({ run, refresh }: { run: Run; refresh: () => void }) {
  const walk = useLoad(() => api.walk(run.run_id), [run.run_id, run.events]);
  const over = run.outcome !== undefined && run.outcome !== null;
  useEvery(EVERY_MS, over ? undefined : () => (refresh(), walk.again()));
  return (
    <section className="run sop" data-status={run.status}>
      <header className="run-head">
        <h1>{run.workflow}</h1>
        <StatusWord status={run.status} />
        <code className="quiet">{run.run_id}</code>
        <span className="quiet">
          {count(run.steps, "move")} · {duration(run.updated_ms - run.started_ms)}
        </span>
      </header>
      <Show from={walk}>{(found) => <Chart walk={found} />}</Show>
    </section>
  );
}

function Chart({ walk }: { walk: Walk }) {
  const [selected, setSelected] = useState<string>();
  const { taken, marks, remarks } = useMemo(() => walked(walk), [walk]);
  return (
    <div className="run-body">
      <div className="run-graph">
        <GraphView graph={walk.procedure} name={`Flowchart of ${walk.procedure.name}`} taken={taken} marks={marks} remarks={remarks} selected={selected} onSelect={setSelected} />
      </div>
      <aside className="run-side" aria-label="The walk" tabIndex={-1}>
        <Facts walk={walk} selected={selected} onSelect={setSelected} />
      </aside>
    </div>
  );
}
