// The head of a run's page: what it is, how it stands, and what can be done with it.
import { useState } from "react";
import { api } from "../api/client";
import type { Run } from "../api/types";
import { Link, to, useRouter } from "../router";
import { exportRun } from "../runs/export-import";
import { clock, count, duration } from "../shell/format";
import { ErrorMessage, useLoad } from "../shell/load";
import { Chip } from "../ui/chip";
import { Icon } from "../ui/icon";
import { Menu } from "../ui/menu";
import { Ago, useNow } from "../ui/time";
import { copy, toast } from "../ui/toast";
import { Debugger } from "./debugger";
import { isPin } from "./pins";
import { asCommand, asCurl, asMcpCall } from "./run-commands";
import { failureCount, isInterrupted, isOver, startOfRun } from "./run-status";
import { shareRun } from "./share";
import { StatusWord } from "./status";
import { useStoredBreakpoints } from "./stored-breakpoints";

type Props = {
  run: Run;
  status: string;
  linked: boolean;
  onDone: () => void;
  /** During time travel: the status and the time then. */
  past?: { status: string; at_ms: number };
  /** The node whose source can be opened. */
  node?: string;
};

export function RunHead({ run, status, linked, onDone, past, node }: Props) {
  const [wrong, setWrong] = useState<Error>();
  const forked = run.forked_from;
  const facts = past ? { status: past.status } : { ...run, status };
  return (
    <header className="run-head">
      <div className="run-title">
        <nav className="crumbs" aria-label="Breadcrumb">
          <Link href={to("runs")}>Runs</Link>
          <span aria-hidden="true">/</span>
          <Link href={`${to("runs")}?workflow=${encodeURIComponent(run.workflow)}`}>{run.workflow}</Link>
          <span aria-hidden="true">/</span>
          <button type="button" className="link" title="Copy the id of the run" onClick={() => copy(run.run_id, "Run id")}>
            <code>{run.run_id}</code>
          </button>
        </nav>
        <div className="row">
          <h1>{run.workflow}</h1>
          <StatusWord of={facts} />
          <span className="quiet facts-line">
            started <Ago ms={startOfRun(run)} /> · <RunClock run={run} status={status} past_ms={past?.at_ms} /> · {count(run.steps, "step")}
            {!past && failureCount(run) > 0 && ` · ${failureCount(run)} failed`}
          </span>
          {forked && (
            <span className="quiet">
              forked from <Link href={`${to("runs", forked.run_id)}?seq=${forked.seq}`}>another run</Link> ·{" "}
              <Link href={`${to("compare")}?left=${forked.run_id}&right=${run.run_id}`}>compare with it</Link>
            </span>
          )}
          {run.parent && (
            <span className="quiet">
              called by <Link href={to("runs", run.parent.run_id, "steps", run.parent.step)}>step {run.parent.step} of another run</Link>
            </span>
          )}
          {!past && !isOver(status) && run.starting?.map((one) => (
            <Chip key={one.server} tone="run" icon="hourglass">
              starting server {one.server}…
            </Chip>
          ))}
          {!linked && !isOver(status) && (
            <span className="chip" data-tone="wait" role="alert">
              Connection lost; reconnecting…
            </span>
          )}
        </div>
      </div>
      <div className="row run-actions">
        {!past && <Debugger run={run} status={status} onDone={onDone} />}
        <Again run={run} onWrong={setWrong} />
        <Share run={run} node={node} onWrong={setWrong} />
      </div>
      {wrong && <ErrorMessage wrong={wrong} />}
    </header>
  );
}

/** How long the run takes or took: a live run ticks, an interrupted one does not. */
function RunClock({ run, status, past_ms }: { run: Run; status: string; past_ms?: number }) {
  const ticks = past_ms === undefined && !isOver(status) && !isInterrupted({ status, driven: run.driven });
  const now = useNow(ticks ? 1_000 : undefined);
  const start = startOfRun(run);
  if (ticks) {
    return (
      <span className="clock" data-testid="run-clock">
        {clock(now - start)}
      </span>
    );
  }
  return <span data-testid="run-clock">{duration(Math.max(0, (past_ms ?? run.updated_ms) - start))}</span>;
}

/** Runs the same workflow again, with the same or another input. */
function Again({ run, onWrong }: { run: Run; onWrong: (wrong: Error) => void }) {
  const { go } = useRouter();
  const pins = useStoredBreakpoints(run.workflow).filter(isPin);
  const again = async () => {
    try {
      const { tools } = await api.tools();
      const known = tools.some((tool) => tool.name === run.workflow);
      const input = run.input ?? {};
      // A plan of an agent is no workflow of its own: it starts over as a fork.
      const { run_id } = known ? await api.start(run.workflow, { input }) : await api.fork(run.run_id, { input });
      toast("Started again");
      go(to("runs", run_id));
    } catch (caught) {
      onWrong(caught as Error);
    }
  };
  return (
    <Menu
      label="Run again"
      icon="refresh"
      items={[
        { label: "With the same input", icon: "refresh", onPick: () => void again() },
        ...(pins.length > 0 ? [{ label: `With ${count(pins.length, "pinned output")}…`, icon: "pin" as const, hint: pins.map((one) => one.node).join(", "), onPick: () => go(`${to("tools", run.workflow)}?from=${encodeURIComponent(run.run_id)}&pinned`) }] : []),
        { label: "With another input…", icon: "edit", onPick: () => go(`${to("tools", run.workflow)}?from=${encodeURIComponent(run.run_id)}`) },
        { label: "Compare with another run…", icon: "compare", onPick: () => go(`${to("compare")}?left=${encodeURIComponent(run.run_id)}`) },
      ]}
    />
  );
}

function Share({ run, node, onWrong }: { run: Run; node?: string; onWrong: (wrong: Error) => void }) {
  const { go } = useRouter();
  const tools = useLoad(() => api.tools(), []);
  const documents = useLoad(() => api.documents(), []);
  const id = tools.value?.tools.find((tool) => tool.name === run.workflow)?.document;
  const path = documents.value?.documents.find((one) => one.id === id)?.path;
  const input = run.input ?? {};
  const source = id ? to("documents", id) + `?workflow=${encodeURIComponent(run.workflow)}${node ? `&node=${encodeURIComponent(node)}` : ""}` : undefined;
  return (
    <>
      {source && (
        <Link className="btn" href={source} title={node ? `Open the source at ${node}` : "Open the source"}>
          <Icon name="code" /> Source
        </Link>
      )}
      <Menu
        label="Share"
        icon="share"
        items={[
          { label: "Copy the link", icon: "copy", onPick: () => copy(location.href, "Link") },
          { label: "Copy as command", icon: "copy", hint: "tramline run …", onPick: () => copy(asCommand(run.workflow, input, path), "Command") },
          { label: "Copy as curl", icon: "copy", onPick: () => copy(asCurl(run.workflow, input, location.origin), "curl command") },
          { label: "Copy as MCP call", icon: "copy", onPick: () => copy(asMcpCall(run.workflow, input), "MCP call") },
          "line",
          { label: "Save as web page", icon: "share", hint: "one HTML file with graph and time travel", onPick: () => void shareRun(run).catch(onWrong) },
          { label: "Export as file", icon: "download", hint: "can be imported elsewhere", onPick: () => void exportRun(run.run_id).catch(onWrong) },
          ...(source ? (["line", { label: "Open the source", icon: "code", onPick: () => go(source) }] as const) : []),
        ]}
      />
    </>
  );
}
