// An SOP session in words: its moves, tasks, rejections, calls and slots.
import type { ReactNode } from "react";
import type { SopSession } from "../api/types";
import { moment } from "../shell/format";
import { Tree } from "../value/tree";
import { todoRow, SIGNS } from "./session-overlay";

/** The maximum number of rows shown of each, the latest ones. */
const ROWS_MAX = 200;

type Props = { walk: SopSession; selected?: string; onSelect: (node: string) => void };

export function SessionPanel({ walk, selected, onSelect }: Props) {
  const node = walk.procedure.nodes.find((one) => one.id === (selected ?? walk.here));
  return (
    <>
      {node && (
        <section aria-label="Node">
          <h2>{node.id === walk.here ? `Now at ${node.id}` : node.id}</h2>
          <p>{node.label}</p>
          {node.detail && <p className="quiet">{node.detail}</p>}
          {node.notes.map((note) => (
            <p key={note} className="quiet">
              {note}
            </p>
          ))}
        </section>
      )}
      <Section title="Moves" many={walk.path.length}>
        <ol className="walk" start={Math.max(1, walk.path.length - ROWS_MAX + 1)}>
          {walk.path.slice(-ROWS_MAX).map((move, index) => (
            <li key={index}>
              <button type="button" className="link" aria-pressed={move.node === selected} onClick={() => onSelect(move.node)}>
                {move.node}
              </button>{" "}
              <span className="quiet">{moment(move.at_ms)}</span>
              {move.by_itself && <span className="quiet"> automatic</span>}
              {move.reason && <p>{move.reason}</p>}
              {move.against && <p className="hint">{move.against}</p>}
              {isPresent(move.evidence) && <Tree value={move.evidence} label={`Evidence of move ${index + 1}`} />}
            </li>
          ))}
        </ol>
      </Section>
      <Section title="Tasks" many={walk.todos.length}>
        <ul className="plain">
          {walk.todos.map((given, index) => {
            const { words, status, note } = todoRow(given);
            return (
              <li key={index} data-todo={status}>
                <span aria-hidden="true">{SIGNS[status] ?? "○"}</span> {words} <span className="quiet">{status.replace(/_/g, " ")}</span>
                {note && <p className="quiet">{note}</p>}
              </li>
            );
          })}
        </ul>
      </Section>
      <Section title="Rejected" many={walk.refused.length}>
        <ul className="plain refused">
          {walk.refused.slice(-ROWS_MAX).map((one, index) => (
            <li key={index}>
              <span aria-hidden="true">⊘</span> <strong>{one.what}</strong> {one.target && <code>{one.target}</code>}
              {one.node && (
                <>
                  {" "}
                  from{" "}
                  <button type="button" className="link" onClick={() => onSelect(one.node!)}>
                    {one.node}
                  </button>
                </>
              )}
              <p>{one.message}</p>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Calls" many={walk.calls.length}>
        <ul className="plain">
          {walk.calls.slice(-ROWS_MAX).map((call, index) => (
            <li key={index}>
              <span aria-hidden="true">{call.ok ? "✓" : call.ok === false ? "✕" : "…"}</span> <code>{call.tool}</code>{" "}
              <span className="quiet">{call.ok ? "done" : call.ok === false ? "failed" : "pending"}</span>
            </li>
          ))}
        </ul>
      </Section>
      {isPresent(walk.slots) && (
        <Section title="Slots" many={Object.keys(walk.slots as object).length}>
          <Tree value={walk.slots} label="Slots" />
        </Section>
      )}
    </>
  );
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && !(typeof value === "object" && Object.keys(value).length === 0);
}

/** A collapsible section; an empty one only has its heading. */
function Section({ title, many, children }: { title: string; many: number; children: ReactNode }) {
  if (many === 0) return <p className="quiet">{title}: none.</p>;
  return (
    <details className="part" open>
      <summary>
        {title} <span className="quiet">{many}</span>
      </summary>
      {children}
    </details>
  );
}
