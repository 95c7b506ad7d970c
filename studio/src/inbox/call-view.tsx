// The call to approve: tool, arguments, its effect on a file, who requested it, what was done so far.
import type { ReactNode } from "react";
import type { ProposedCall, Question } from "../api/types";
import { count } from "../shell/format";
import { Tree } from "../value/tree";
import { badges, diffLines, describeFileChange } from "./call-format";

export function CallView({ question, brief }: { question: Question; /** Without what the run did before. */ brief?: boolean }) {
  const call = question.call;
  if (!call) return null;
  return (
    <section className="call" aria-label="The call">
      <p className="row">
        {!brief && <code className="call-tool">{call.name}</code>}
        <span className="quiet">on server {call.server}</span>
        {badges(call).map((badge) => (
          <span key={badge.word} className="tag" data-warns={badge.warns} title={badge.means}>
            {badge.word}
          </span>
        ))}
      </p>
      <Arguments call={call} />
      {call.file && <FileChange file={call.file} />}
      <Context question={question} brief={brief} />
    </section>
  );
}

function Arguments({ call }: { call: ProposedCall }) {
  if (call.items) {
    return (
      <Part name={`${count(call.items.count, "call")}, one per item`}>
        <Tree value={call.items.calls} label="Arguments of the first calls" />
        {call.items.calls.length < call.items.count && <p className="quiet">{call.items.count - call.items.calls.length} more calls are made like these.</p>}
      </Part>
    );
  }
  return (
    <Part name="Arguments">
      <Tree value={call.arguments} label="Arguments" bare />
      {call.cut && <p className="quiet">Long values are truncated. Edit shows them in full.</p>}
      {call.fixed && <p className="quiet">Secrets are shown by their names: {call.fixed.join(", ")}</p>}
    </Part>
  );
}

function FileChange({ file }: { file: NonNullable<ProposedCall["file"]> }) {
  return (
    <Part name={`File: ${describeFileChange(file)}`}>
      {file.note && <p className="quiet">{file.note}</p>}
      {file.diff && (
        <div className="difference" role="group" aria-label={`Difference of ${file.path}`} tabIndex={0}>
          {diffLines(file.diff).map((line, at) => (
            <div key={at} className="diff-line" data-kind={line.kind}>
              <span aria-hidden="true">{line.kind === "gone" ? "−" : line.kind === "new" ? "+" : " "}</span>
              {line.kind === "gone" && <span className="unseen">removed: </span>}
              {line.kind === "new" && <span className="unseen">added: </span>}
              <code>{line.text}</code>
            </div>
          ))}
        </div>
      )}
      {file.cut && <p className="quiet">The diff is truncated.</p>}
    </Part>
  );
}

const SOURCES: { [source: string]: string } = {
  policy: "the operator's policy",
  confirm: "the procedure",
  destructive: "the tool's annotation as destructive",
  document: "the workflow itself",
};

const SIGNS: { [status: string]: string } = { succeeded: "✓", failed: "✗", open: "…" };

/** Who asks and why, and what the run has called before. */
function Context({ question, brief }: { question: Question; brief?: boolean }) {
  const { requested, done } = question;
  const source = typeof question["source"] === "string" ? SOURCES[question["source"]] : undefined;
  return (
    <>
      {requested && (
        <p className="quiet">
          Requested by {requested.workflow}
          {requested.owner && ` for ${requested.owner}`}
          {requested.session_id && ` in session ${requested.session_id}`}
          {requested.intent && `: “${requested.intent}”`}
          {source && `. Approval is demanded by ${source}`}
          {typeof question["reason"] === "string" && `: ${question["reason"]}`}
        </p>
      )}
      {done && !brief && (
        <Part name={done.calls === 0 ? "Done so far: no calls" : `Done so far: ${count(done.calls, "call")}`} folded={done.calls === 0 || done.latest.length > 3}>
          {done.latest.length > 0 && (
            <ul className="done">
              {done.latest.map((one, at) => (
                <li key={at}>
                  <span title={one.status}>{SIGNS[one.status] ?? one.status}</span> {one.node} <code>{one.tool}</code> <code className="quiet">{one.arguments}</code>
                </li>
              ))}
            </ul>
          )}
        </Part>
      )}
    </>
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
