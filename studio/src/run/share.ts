// Saves a run as one HTML file: its graph with the state after every event, and its steps. It needs no server.
import { api } from "../api/client";
import type { Run, StepView } from "../api/types";
import { download } from "../shell/download";
import { layoutOf } from "../graph/use-layout";
import { sharePage, type SharedEvent } from "./share-page";

/** Larger runs are shared without their middle: the file stays small enough to attach. */
const EVENTS_MAX = 400;
const STEPS_MAX = 200;
/** Requests at a time. */
const AT_ONCE = 8;

export async function shareRun(run: Run): Promise<void> {
  const [graph, timeline] = await Promise.all([api.graph(run.run_id), api.timeline(run.run_id, 0, STEPS_MAX)]);
  const laid = await layoutOf(graph);
  const stride = Math.max(1, Math.ceil(run.events / EVENTS_MAX));
  const seqs = Array.from({ length: Math.ceil(run.events / stride) }, (_, at) => Math.min(run.events, (at + 1) * stride));
  const events = await inTurns(seqs, async (seq): Promise<SharedEvent> => {
    const at = await api.snapshot(run.run_id, seq);
    return { seq, at_ms: at.at_ms, event: at.event.replace(/_/g, " "), status: at.status, nodes: Object.fromEntries(Object.entries(at.nodes).map(([id, node]) => [id, node.status])), taken: at.taken.map(([from, to]) => `${from}>${to}`) };
  });
  const steps = await inTurns(timeline.steps.slice(0, STEPS_MAX), (row): Promise<StepView> => api.step(run.run_id, row[0]));
  download(`${run.workflow}-${run.run_id}.html`, sharePage({ run, graph, laid, events, steps }), "text/html");
}

async function inTurns<A, B>(all: A[], one: (item: A) => Promise<B>): Promise<B[]> {
  const done: B[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE) done.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(one))));
  return done;
}
