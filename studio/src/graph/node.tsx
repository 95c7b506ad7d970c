// Renders a node: its shape shows the kind, its sign and outline the status.
import { Handle, Position, type NodeProps, type Node } from "@xyflow/react";
import { memo } from "react";
import type { GraphNode, NodeStatus } from "../api/types";
import { kindLook } from "./node-kinds";
import { statusLook } from "./node-statuses";

export type Mark = "added" | "removed" | "changed" | "here" | "refused";

export type NodeData = {
  node: GraphNode;
  status?: NodeStatus;
  visits?: number;
  /** Whether a run is shown: without one there is no status. */
  live: boolean;
  chosen: boolean;
  /** Whether it is the one node in the tab order; arrow keys move on from it. */
  tab: boolean;
  breakpoint?: string | true;
  breakable: boolean;
  flaws?: number;
  mark?: Mark;
  /** Text below the label instead of the node's own. */
  remark?: string;
  upright: boolean;
  connectable: boolean;
  width: number;
  height: number;
};

export type FlowNode = Node<NodeData, "shown">;

/** Additional text for screen readers. */
function screenReaderText({ node, status, live, breakpoint, flaws, mark }: NodeData): string {
  const parts = [kindLook(node.kind).word];
  if (live && (!status || status === "idle")) parts.push(statusLook("idle").word);
  if (breakpoint) parts.push("breakpoint");
  if (flaws) parts.push(`${flaws} flaw${flaws === 1 ? "" : "s"}`);
  if (mark) parts.push(mark);
  return `, ${parts.join(", ")}`;
}

export const NodeView = memo(function ShownNodeView({ data }: NodeProps<FlowNode>) {
  const { node, status, visits, live, chosen, tab, breakpoint, breakable, flaws, mark, remark, upright, width, height } = data;
  const kind = kindLook(node.kind);
  const state = statusLook(status);
  const outline = kind.outline(width, height);
  const word = live && status && status !== "idle" ? state.word + (visits && visits > 1 ? ` ×${visits}` : "") : undefined;
  return (
    <div
      className="node"
      data-node={node.id}
      data-kind={node.kind}
      data-status={live ? (status ?? "idle") : undefined}
      data-chosen={chosen || undefined}
      data-mark={mark}
      role="button"
      aria-pressed={chosen}
      tabIndex={tab ? 0 : -1}
      style={{ width, height }}
    >
      <svg className="outline" width={width} height={height} aria-hidden="true">
        <path className="body" d={outline} strokeDasharray={live ? state.dash : undefined} />
        {live && state.hatched && <path className="hatch" d={outline} fill="url(#hatch)" />}
        {(node.kind === "exit" || node.kind === "terminal") && (
          <path className="inner" d={kind.outline(width - 8, height - 8)} transform="translate(4 4)" />
        )}
      </svg>
      <svg className="icon" viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
        <path d={kind.icon} />
      </svg>
      <span className="words" title={[node.label, node.tool ?? node.detail].filter(Boolean).join("\n")}>
        <span className="label">{node.label}</span>
        <span className="detail">{word ? `${state.sign} ${word}` : (remark ?? node.tool ?? node.detail ?? kind.word)}</span>
        <span className="unseen">{screenReaderText(data)}</span>
      </span>
      {(breakpoint || breakable) && (
        <span className="break" data-break={node.id} data-on={breakpoint ? (breakpoint === true ? "always" : "when") : undefined} aria-hidden="true" />
      )}
      {!!flaws && <span className="flaws" aria-hidden="true">{flaws}</span>}
      {mark && <span className="mark" aria-hidden="true">{MARKS[mark]}</span>}
      {node.patch !== undefined && <span className="patch" title={`added by amendment ${node.patch}`}>+{node.patch}</span>}
      <Handle type="target" position={upright ? Position.Top : Position.Left} isConnectable={data.connectable} />
      <Handle type="source" position={upright ? Position.Bottom : Position.Right} isConnectable={data.connectable} />
    </div>
  );
});

const MARKS: { [mark in Mark]: string } = { added: "+", removed: "−", changed: "±", here: "◉", refused: "⊘" };
