// One step in full: what went in, what was done, what came out, and why.
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { GraphNode, Json, Raw, StepView } from "../api/types";
import { look } from "../graph/kinds";
import { stateLook } from "../graph/states";
import { Show, useLoad } from "../shell/load";
import { duration, moment } from "../shell/words";
import { Tree } from "../value/tree";
import { ForkForm } from "./fork";
import { WhyView } from "./why";

type Props = {
  run: string;
  step: number;
  /** Changes when the step may have got further. */
  fresh: number;
  onSeq?: (seq: number) => void;
};

export function Inspector({ run, step, fresh, onSeq }: Props) {
  const loaded = useLoad((signal) => api.step(run, step, signal), [run, step, fresh]);
  return <Show from={loaded}>{(view) => <Step run={run} view={view} onSeq={onSeq} />}</Show>;
}

function Step({ run, view, onSeq }: { run: string; view: StepView; onSeq?: (seq: number) => void }) {
  const [forking, setForking] = useState(false);
  const state = stateLook(view.status === "open" ? "running" : view.status);
  const ended = view.seqs?.finished ?? undefined;
  const begun = view.seqs?.started ?? ended;
  return (
    <article className="inspector" aria-label={`Step ${view.step}`}>
      <h2>
        {view.node} <span className="quiet">step {view.step}</span>
      </h2>
      <dl className="facts">
        <Fact name="Kind">{look(view.kind).word}</Fact>
        {view.tool && <Fact name="Tool">{view.tool}</Fact>}
        <Fact name="State">
          <span className="state" data-status={view.status}>
            {state.sign} {state.word}
          </span>
        </Fact>
        <Fact name="Took">{duration(view.duration_ms)}</Fact>
        <Fact name="Begun">{moment(view.started_ms)}</Fact>
        {view.attempts > 1 && <Fact name="Attempts">{view.attempts}</Fact>}
        {view.label && <Fact name="Label">{view.label}</Fact>}
      </dl>
      <div className="row">
        {onSeq && begun !== undefined && (
          <button type="button" onClick={() => onSeq(begun)}>
            Go to this moment
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
        <Part name="Why this way">
          <WhyView why={view.why} />
        </Part>
      )}
      {view.error !== undefined && view.error !== null && <Value name="Error" value={view.error} />}
      <Value name="Input" value={view.input} />
      {view.expression !== undefined && view.expression !== null && <Expression value={view.expression} />}
      <Value name="Output" value={view.output} />
      {!!view.retried?.length && <Value name="Attempts that failed" value={view.retried} />}
      {view.request && <RawPart name="Request" raw={view.request} />}
      {view.response && <RawPart name="Response" raw={view.response} />}
      {!!view.stderr?.length && (
        <Part name="Standard error of the server" folded>
          <pre tabIndex={0}>{view.stderr.join("\n")}</pre>
        </Part>
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

function Part({ name, folded, children }: { name: string; folded?: boolean; children: ReactNode }) {
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
    <Part name={name}>
      <Tree value={value} label={name} />
      <Copy value={value} name={name} />
    </Part>
  );
}

function Copy({ value, name }: { value: Json; name: string }) {
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
    <Part name="Expression">
      {typeof value === "string" ? <pre tabIndex={0}>{value}</pre> : <Tree value={value} label="Expression" />}
    </Part>
  );
}

/** What went over the wire. After a restart it is rebuilt from the journal, and says so. */
function RawPart({ name, raw }: { name: string; raw: Raw }) {
  return (
    <Part name={raw.kept ? `${name} as it was sent` : `${name} (rebuilt from the journal)`} folded>
      <Tree value={raw.message} label={name} />
    </Part>
  );
}

/** A node that no step was at, or that is looked at by itself. */
export function NodeFacts({ node, children }: { node: GraphNode; children?: ReactNode }) {
  return (
    <article className="inspector" aria-label={`Node ${node.id}`}>
      <h2>{node.label}</h2>
      <dl className="facts">
        <Fact name="Id">{node.id}</Fact>
        <Fact name="Kind">{look(node.kind).word}</Fact>
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
