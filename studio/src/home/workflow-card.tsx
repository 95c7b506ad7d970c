// A workflow: its picture, what it does, how its runs go, and a button to run it.
import { api } from "../api/client";
import type { Tool } from "../api/types";
import { MiniGraph } from "../graph/mini-graph";
import { Link, to } from "../router";
import { Chip } from "../ui/chip";
import { Icon } from "../ui/icon";
import { Ago } from "../ui/time";
import type { WorkflowFacts } from "./statistics";

/** Below this share of good runs a workflow needs attention. */
const GOOD_MIN = 90;

export function WorkflowCard({ tool, facts, source }: { tool: Tool; facts?: WorkflowFacts; source?: string }) {
  const name = tool.title ?? tool.name;
  const success = facts?.success;
  return (
    <li className="workflow">
      <Link className="workflow-picture" href={to("tools", tool.name)} tabIndex={-1} aria-hidden="true">
        <MiniGraph load={() => api.toolGraph(tool.name)} />
      </Link>
      <div>
        <h3>
          <Link href={to("tools", tool.name)}>{name}</Link>
        </h3>
        <p className="quiet clamp">{tool.description}</p>
      </div>
      <p className="meta">
        {success !== undefined && (
          <Chip tone={success >= GOOD_MIN ? "ok" : "wait"} title={`of the last ${facts?.finished} finished runs`}>
            {success} % ok
          </Chip>
        )}
        <span className="quiet">{facts?.last ? <Ago ms={facts.last.updated_ms} /> : "never run"}</span>
        {source && tool.document && (
          <Link className="quiet source" href={to("documents", tool.document)} title={source}>
            {source.split("/").pop()}
          </Link>
        )}
        <Link className="btn" data-small href={to("tools", tool.name)} aria-label={`Run ${name}`}>
          <Icon name="play" size={13} /> Run
        </Link>
      </p>
    </li>
  );
}
