// One step in full: its input, expression, output, and the reason for its branch.
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { GraphNode, Json, WireMessage, StepView } from "../api/types";
import { kindLook } from "../graph/node-kinds";
import { statusLook } from "../graph/node-statuses";
import { LoadView, useLoad } from "../shell/load";
import { duration, moment, timeOfDay } from "../shell/format";
import { noteWords } from "../graph/badges";
import { Link, to } from "../router";
import { nameInJsonata } from "./jsonata-name";
import { Icon } from "../ui/icon";
import { Elapsed } from "../ui/time";
import type { Tone } from "./run-status";
import { Tree } from "../value/tree";
import { ForkForm } from "./fork-form";
import { BranchExplanationView } from "./branch-explanation";

type Props = {
  run: string;
  step: number;
  /** Changes when the step may have made progress. */
  fresh: number;
  /** During time travel: nothing that came after this event is shown. */
  until?: number;
  onSeq?: (seq: number) => void;
  /** Pins the output of a node. */
  onPin?: (node: string, output: Json) => void;
};

export function Inspector({ run, step, fresh, until, onSeq, onPin }: Props) {
  const loaded = useLoad((signal) => api.step(run, step, signal), [run, step, fresh]);
  return <LoadView from={loaded}>{(view) => <Step run={run} view={until === undefined ? view : stepThen(view, until)} until={until} onSeq={onSeq} onPin={onPin} />}</LoadView>;
}

/** A step as it was after an event: one that had not ended has no output, one that had not started is only announced. */
export function stepThen(view: StepView, seq: number): StepView {
  const { started, finished } = view.seqs ?? {};
  if (typeof finished === "number" && finished <= seq) return view;
  const begun = typeof started === "number" && started <= seq;
  const { step, node, kind, tool, input, expression, request, started_ms, seqs } = view;
  return { step, node, kind, tool, attempts: 1, status: begun ? "open" : "idle", started_ms: begun ? started_ms : 0, seqs: { started }, ...(begun ? { input, expression, request } : { seqs }) };
}

function Step({ run, view, until, onSeq, onPin }: { run: string; view: StepView } & Pick<Props, "until" | "onSeq" | "onPin">) {
  const [forking, setForking] = useState(false);
  const state = statusLook(view.status === "open" ? "running" : view.status);
  const ended = view.seqs?.finished ?? undefined;
  const begun = view.seqs?.started ?? ended;
  return (
    <article className="inspector" aria-label={`Step ${view.step}`}>
      <header className="row">
        <h2>{view.node}</h2>
        {view.tool && <span className="chip">{view.tool}</span>}
        <span className="state chip" data-status={view.status} data-tone={TONES[view.status] ?? "idle"}>
          <Icon name={state.icon} size={13} /> {state.word}
        </span>
      </header>
      <dl className="facts">
        <Fact name="Step">{view.step}</Fact>
        <Fact name="Kind">{kindLook(view.kind).word}</Fact>
        {view.status === "open" && until === undefined ? (
          <Fact name="Running for">
            <Elapsed since_ms={view.started_ms} />
          </Fact>
        ) : (
          <Fact name="Duration">{view.duration_ms === undefined || view.duration_ms === null ? "—" : duration(view.duration_ms)}</Fact>
        )}
        {view.started_ms > 0 && (
          <Fact name="Started">
            <span title={moment(view.started_ms)}>{timeOfDay(view.started_ms)}</span>
          </Fact>
        )}
        {view.attempts > 1 && <Fact name="Attempts">{view.attempts}</Fact>}
        {view.label && <Fact name="Label">{view.label}</Fact>}
      </dl>
      <div className="row">
        {onSeq && begun !== undefined && (
          <button type="button" onClick={() => onSeq(begun)}>
            <Icon name="clock" /> Go to this event
          </button>
        )}
        <Link className="btn" href={playgroundLink(run, view)}>
          <Icon name="playground" /> {view.expression === undefined || view.expression === null ? "Try an expression" : "Try the expression"}
        </Link>
        {onPin && view.output !== undefined && ended !== undefined && view.kind !== "entry" && view.kind !== "exit" && (
          <button type="button" title="Later runs use this output and do not run the node" onClick={() => onPin(view.node, view.output ?? null)}>
            <Icon name="pin" /> Pin the output
          </button>
        )}
        {ended !== undefined && until === undefined && (
          <button type="button" aria-expanded={forking} onClick={() => setForking(!forking)}>
            <Icon name="branch" /> Fork from here…
          </button>
        )}
      </div>
      {forking && <ForkForm run={run} view={view} />}
      {view.why && (
        <Section name="Why this branch">
          <BranchExplanationView why={view.why} />
        </Section>
      )}
      {view.error !== undefined && view.error !== null && <Value name="Error" value={view.error} />}
      <Value name="Input" value={view.input} />
      {view.expression !== undefined && view.expression !== null && <Expression value={view.expression} />}
      <Value name="Output" value={view.output} />
      {!!view.retried?.length && <Value name="Failed attempts" value={view.retried} />}
      {view.request && <WireMessageSection name="Request" raw={view.request} />}
      {view.response && <WireMessageSection name="Response" raw={view.response} />}
      {!!view.stderr?.length && (
        <Section name="Server stderr" folded>
          <pre tabIndex={0}>{view.stderr.join("\n")}</pre>
        </Section>
      )}
    </article>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Section({ name, folded, children }: { name: string; folded?: boolean; children: ReactNode }) {
  return (
    <details className="part" open={!folded}>
      <summary>{name}</summary>
      {children}
    </details>
  );
}

function Value({ name, value }: { name: string; value: Json | undefined }) {
  if (value === undefined) return null;
  return (
    <Section name={name}>
      <Tree value={value} label={name} />
      <CopyButton value={value} name={name} />
    </Section>
  );
}

function CopyButton({ value, name }: { value: Json; name: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      className="copy"
      aria-label={`Copy ${name.toLowerCase()}`}
      onClick={() => void navigator.clipboard.writeText(JSON.stringify(value, null, 2)).then(() => setDone(true))}
    >
      <Icon name={done ? "check" : "copy"} size={14} />
    </button>
  );
}

function Expression({ value }: { value: Json }) {
  return (
    <Section name="Expression">
      {typeof value === "string" ? <pre tabIndex={0}>{value}</pre> : <Tree value={value} label="Expression" />}
    </Section>
  );
}

/** A wire message. After a restart it is rebuilt from the journal, and marked as such. */
function WireMessageSection({ name, raw }: { name: string; raw: WireMessage }) {
  return (
    <Section name={raw.kept ? `${name} as sent` : `${name} (rebuilt from the journal)`} folded>
      <Tree value={raw.message} label={name} />
    </Section>
  );
}

const TONES: { [status: string]: Tone } = { succeeded: "ok", failed: "bad", rejected: "bad", open: "run", running: "run", waiting: "wait", asking: "wait", retrying: "wait" };

/** The expression of a step in the playground, on the state just before the step; a step without one starts with its output. */
function playgroundLink(run: string, view: StepView): string {
  if (view.expression === undefined || view.expression === null) {
    const at = view.seqs?.finished ?? view.seqs?.started ?? 1;
    return `${to("playground")}?run=${encodeURIComponent(run)}&seq=${at}&language=jsonata&expression=${encodeURIComponent(nameInJsonata(view.node))}`;
  }
  const before = Math.max(1, (view.seqs?.started ?? view.seqs?.finished ?? 2) - 1);
  const text = typeof view.expression === "string" ? view.expression : JSON.stringify(view.expression, null, 2);
  const language = typeof view.expression === "string" ? "jsonata" : "jsonlogic";
  return `${to("playground")}?run=${encodeURIComponent(run)}&seq=${before}&language=${language}&expression=${encodeURIComponent(text)}`;
}

/** A node without a step, or selected on its own. */
export function NodeDetails({ node, status, children }: { node: GraphNode; status?: string; children?: ReactNode }) {
  const state = statusLook(status);
  return (
    <article className="inspector" aria-label={`Node ${node.id}`}>
      <header className="row">
        <h2>{node.label}</h2>
        {node.tool && <span className="chip">{node.tool}</span>}
        {status && (
          <span className="state chip" data-status={status} data-tone={TONES[status] ?? "idle"}>
            <Icon name={state.icon} size={13} /> {state.word}
          </span>
        )}
      </header>
      <dl className="facts">
        {node.id !== node.label && <Fact name="Id">{node.id}</Fact>}
        <Fact name="Kind">{kindLook(node.kind).word}</Fact>
        {node.line && <Fact name="Line">{node.line}</Fact>}
      </dl>
      {node.detail && node.detail !== node.tool && <pre tabIndex={0}>{node.detail}</pre>}
      {node.notes.map((note) => (
        <p key={note}>{noteWords(note)}</p>
      ))}
      {children}
    </article>
  );
}
