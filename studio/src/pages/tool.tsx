// A workflow: its description, a form to start it beside its graph, and its latest runs.
import { api } from "../api/client";
import type { Json, Tool } from "../api/types";
import { StartForm } from "../form/start-form";
import { GraphView } from "../graph/view";
import { Link, to, useRouter } from "../router";
import { startOfRun } from "../run/run-status";
import { StatusWord } from "../run/status";
import { duration } from "../shell/format";
import { ErrorMessage, LoadView, useLoad } from "../shell/load";
import { Empty, Skeleton } from "../ui/empty";
import { Icon } from "../ui/icon";
import { Ago } from "../ui/time";

const RUNS_SHOWN = 6;

export function ToolPage({ name }: { name: string }) {
  const tools = useLoad(() => api.tools(), []);
  const { search } = useRouter();
  const from = new URLSearchParams(search).get("from") ?? undefined;
  const pinned = new URLSearchParams(search).has("pinned");
  return (
    <section className="page broad">
      <LoadView from={tools}>
        {({ tools }) => {
          const tool = tools.find((one) => one.name === name);
          if (tool) return <Loaded tool={tool} from={from} pinned={pinned} />;
          return (
            <>
              <h1>{name}</h1>
              <Empty icon="workflow" title="There is no workflow with this name.">
                It may come from a document that is not open here. <Link href={to("tools")}>All workflows</Link>
              </Empty>
            </>
          );
        }}
      </LoadView>
    </section>
  );
}

function Loaded({ tool, from, pinned }: { tool: Tool; from?: string; pinned: boolean }) {
  const graph = useLoad(() => api.toolGraph(tool.name), [tool.name]);
  // The input of an earlier run is offered for editing.
  const earlier = useLoad(() => (from ? api.run(from).then((run): Json => run.input ?? {}) : Promise.resolve(undefined)), [from]);
  return (
    <>
      <header className="page-head">
        <h1>{tool.title ?? tool.name}</h1>
        <span className="grow" />
        {tool.document && (
          <Link className="btn" href={to("documents", tool.document)}>
            <Icon name="code" /> View source
          </Link>
        )}
        <Link className="btn" href={`${to("runs")}?workflow=${encodeURIComponent(tool.name)}`}>
          <Icon name="activity" /> Runs
        </Link>
      </header>
      {tool.source === "library" && (
        <p>
          <Link href={to("tools", tool.name, "versions")}>
            <Icon name="compare" size={14} /> Versions and what changed
          </Link>
        </p>
      )}
      {tool.description && <p className="lead">{tool.description}</p>}
      <div className="tool-row">
        <div className="card pad">
          {from && earlier.value !== undefined && <p className="quiet">Filled in from an earlier run.</p>}
          {earlier.wrong && <ErrorMessage wrong={earlier.wrong} />}
          {from && earlier.value === undefined && !earlier.wrong ? <Skeleton rows={4} /> : <StartForm key={from ?? ""} tool={tool} input={earlier.value} pinned={pinned} />}
        </div>
        <div className="tool-side">
          <div className="card tool-graph">
            {graph.value ? <GraphView graph={graph.value} name={`Graph of ${tool.name}`} /> : <Skeleton rows={3} />}
          </div>
          <LatestRuns tool={tool.name} />
        </div>
      </div>
    </>
  );
}

function LatestRuns({ tool }: { tool: string }) {
  const runs = useLoad(() => api.runs({ workflow: tool, most: RUNS_SHOWN }), [tool]);
  if (!runs.value || runs.value.runs.length === 0) return null;
  return (
    <section aria-labelledby="latest">
      <div className="sect">
        <h2 id="latest">Latest runs</h2>
        <Link href={`${to("runs")}?workflow=${encodeURIComponent(tool)}`}>All</Link>
      </div>
      <ul className="card rows">
        {runs.value.runs.map((run) => (
          <li key={run.run_id} className="run-row">
            <StatusWord of={run} />
            <Link className="preview" href={to("runs", run.run_id)}>
              {run.outcome_preview || run.input_preview || run.run_id}
            </Link>
            <span className="quiet">
              <Ago ms={startOfRun(run)} /> · {duration(run.updated_ms - startOfRun(run))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
