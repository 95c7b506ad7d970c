// One step in full: its input, expression, output, and the reason for its branch.
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { GraphNode, Json, WireMessage, StepView } from "../api/types";
import { kindLook } from "../graph/node-kinds";
import { statusLook } from "../graph/node-statuses";
import { LoadView, useLoad } from "../shell/load";
import { duration, moment } from "../shell/format";
import { Tree } from "../value/tree";
import { ForkForm } from "./fork-form";
import { BranchExplanationView } from "./branch-explanation";

type Props = {
  run: string;
  step: number;
  /** Changes when the step may have made progress. */
  fresh: number;
  onSeq?: (seq: number) => void;
};

export function Inspector({ run, step, fresh, onSeq }: Props) {
  const loaded = useLoad((signal) => api.step(run, step, signal), [run, step, fresh]);
  return <LoadView from={loaded}>{(view) => <Step run={run} view={view} onSeq={onSeq} />}</LoadView>;
}

function Step({ run, view, onSeq }: { run: string; view: StepView; onSeq?: (seq: number) => void }) {
  const [forking, setForking] = useState(false);
  const state = statusLook(view.status === "open" ? "running" : view.status);
  const ended = view.seqs?.finished ?? undefined;
  const begun = view.seqs?.started ?? ended;
  return (
    <article className="inspector" aria-label={`Step ${view.step}`}>
      <h2>
        {view.node} <span className="quiet">step {view.step}</span>
      </h2>
      <dl className="facts">
        <Fact name="Kind">{kindLook(view.kind).word}</Fact>
        {view.tool && <Fact name="Tool">{view.tool}</Fact>}
        <Fact name="Status">
          <span className="state" data-status={view.status}>
            {state.sign} {state.word}
          </span>
        </Fact>
        <Fact name="Duration">{duration(view.duration_ms)}</Fact>
        <Fact name="Started">{moment(view.started_ms)}</Fact>
        {view.attempts > 1 && <Fact name="Attempts">{view.attempts}</Fact>}
        {view.label && <Fact name="Label">{view.label}</Fact>}
      </dl>
      <div className="row">
        {onSeq && begun !== undefined && (
          <button type="button" onClick={() => onSeq(begun)}>
            Go to this event
          </button>
        )}
        {ended !== undefined && (
          <button type="button" aria-expanded={forking} onClick={() => setForking(!forking)}>
            Fork from here…
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
      {done ? "copied" : "copy"}
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

/** A node without a step, or selected on its own. */
export function NodeDetails({ node, children }: { node: GraphNode; children?: ReactNode }) {
  return (
    <article className="inspector" aria-label={`Node ${node.id}`}>
      <h2>{node.label}</h2>
      <dl className="facts">
        <Fact name="Id">{node.id}</Fact>
        <Fact name="Kind">{kindLook(node.kind).word}</Fact>
        {node.tool && <Fact name="Tool">{node.tool}</Fact>}
        {node.line && <Fact name="Line">{node.line}</Fact>}
      </dl>
      {node.detail && <pre tabIndex={0}>{node.detail}</pre>}
      {node.notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {children}
    </article>
  );
}
