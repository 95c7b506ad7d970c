// One run: its graph as it happens, its steps, and what can be done with it.
import { useState } from "react";
import { GraphView } from "../graph/view";
import { useLive } from "../run/live";
import { StatusWord } from "../run/status";
import { Trouble } from "../shell/load";

export function RunPage({ run: id }: { run: string; step?: number }) {
  const live = useLive(id);
  const [selected, setSelected] = useState<string>();
  if (live.wrong && !live.run) return <Trouble wrong={live.wrong} />;
  if (!live.run) return <p className="quiet">Loading…</p>;
  return (
    <section className="run">
      <header className="run-head">
        <h1>{live.run.workflow}</h1>
        <StatusWord status={live.picture.status} />
      </header>
      {live.graph && (
        <GraphView
          graph={live.graph}
          name={`Graph of ${live.run.workflow}`}
          states={live.picture.nodes}
          taken={live.picture.taken}
          selected={selected}
          onSelect={setSelected}
        />
      )}
    </section>
  );
}
