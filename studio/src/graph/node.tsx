// Renders a node: shape and colour of its icon show the kind, sign and outline the status, beside its time.
import { Handle, Position, type NodeProps, type Node } from "@xyflow/react";
import { memo } from "react";
import type { GraphNode, NodeStatus } from "../api/types";
import { clock, duration } from "../shell/format";
import { Icon } from "../ui/icon";
import { useNow } from "../ui/time";
import { badgesOf } from "./badges";
import { kindLook } from "./node-kinds";
import { statusLook } from "./node-statuses";

export type Mark = "added" | "removed" | "changed" | "here" | "refused" | "passed";

/** The time of a node: since when it is busy, or how long it took. */
export type NodeTime = { since_ms?: number; took_ms?: number; /** Of its items, how many are done and failed. */ items?: string };

export type NodeData = {
  node: GraphNode;
  status?: NodeStatus;
  visits?: number;
  time?: NodeTime;
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
  /** How many nodes can be folded into this one, and whether they are. */
  group?: number;
  folded: boolean;
  width: number;
  height: number;
};

/** Marks a node whose output is pinned, in place of the condition of its breakpoint. */
export const PINNED = "pinned";

export type FlowNode = Node<NodeData, "shown">;

/** Additional text for screen readers. */
function screenReaderText({ node, status, live, breakpoint, flaws, mark, group, folded }: NodeData): string {
  const parts = [kindLook(node.kind).word];
  if (live) parts.push(statusLook(status).word);
  parts.push(...badgesOf(node).map((badge) => badge.words));
  if (breakpoint) parts.push(breakpoint === PINNED ? "pinned output" : "breakpoint");
  if (flaws) parts.push(`${flaws} problem${flaws === 1 ? "" : "s"}`);
  if (mark) parts.push(mark);
  if (group !== undefined && folded) parts.push(`${group} nodes folded`);
  return `, ${parts.join(", ")}`;
}

/** The second line: what is expected of the reader comes before what the node is. */
function detailOf({ node, status, live, remark, visits, time }: NodeData): string {
  const state = statusLook(status);
  const own = remark ?? node.tool ?? node.detail ?? kindLook(node.kind).word;
  const said = live && state.said ? [state.word] : [];
  const many = live && visits && visits > 1 ? [`×${visits}`] : [];
  return [...said, ...(time?.items && live ? [time.items] : []), ...many, own].join(" · ");
}

export const NodeView = memo(function ShownNodeView({ data }: NodeProps<FlowNode>) {
  const { node, status, live, chosen, tab, breakpoint, breakable, flaws, mark, upright, width, height } = data;
  const kind = kindLook(node.kind);
  const state = statusLook(status);
  const outline = kind.outline(width, height);
  const detail = detailOf(data);
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
      style={{ width, height, "--kind": `var(${kind.colour})` } as React.CSSProperties}
    >
      <svg className="outline" width={width} height={height} aria-hidden="true">
        <path className="body" d={outline} strokeDasharray={live ? state.dash : undefined} />
        {live && state.hatched && <path className="hatch" d={outline} fill="url(#hatch)" />}
        {(node.kind === "exit" || node.kind === "terminal") && (
          <path className="inner" d={kind.outline(width - 8, height - 8)} transform="translate(4 4)" />
        )}
      </svg>
      <span className="tile">
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d={kind.icon} />
        </svg>
      </span>
      <span className="words" title={[node.label, node.tool ?? node.detail, ...badgesOf(node).map((badge) => badge.words)].filter(Boolean).join("\n")}>
        <span className="node-line">
          <span className="label">{node.label}</span>
          {live && status && status !== "idle" && <NodeState data={data} />}
        </span>
        <span className="node-line">
          <span className="detail">{detail}</span>
          <span className="badges" aria-hidden="true">
            {badgesOf(node).map((badge) => (
              <Icon key={badge.words} name={badge.icon} size={13} />
            ))}
          </span>
        </span>
        <span className="unseen">{screenReaderText(data)}</span>
      </span>
      {(breakpoint || breakable) && (
        <span className="break" data-break={node.id} data-on={breakpoint ? (breakpoint === true ? "always" : breakpoint === PINNED ? "pinned" : "when") : undefined} aria-hidden="true" />
      )}
      {data.group !== undefined && (
        <span className="fold" data-fold={node.id} data-folded={data.folded || undefined} aria-hidden="true" title={data.folded ? `Show ${data.group} folded nodes (f)` : `Fold ${data.group} nodes (f)`}>
          {data.folded ? `+${data.group}` : "−"}
        </span>
      )}
      {!!flaws && <span className="flaws" aria-hidden="true">{flaws}</span>}
      {mark && <span className="mark" aria-hidden="true">{MARKS[mark]}</span>}
      {node.patch !== undefined && <span className="patch" title={`added by amendment ${node.patch}`}>+{node.patch}</span>}
      <Handle type="target" position={upright ? Position.Top : Position.Left} isConnectable={data.connectable} />
      <Handle type="source" position={upright ? Position.Bottom : Position.Right} isConnectable={data.connectable} />
    </div>
  );
});

/** The icon of the status, and how long it took or takes. */
function NodeState({ data: { status, time } }: { data: NodeData }) {
  const since = time?.since_ms;
  return (
    <span className="state-mark" aria-hidden="true">
      <Icon name={statusLook(status).icon} size={13} />
      {since !== undefined ? <Ticking since_ms={since} /> : time?.took_ms !== undefined && <span>{duration(time.took_ms)}</span>}
    </span>
  );
}

/** Elapsed time with tenths in the first ten seconds, so that a short call is seen to move. */
function Ticking({ since_ms }: { since_ms: number }) {
  const now = useNow(200);
  const ms = Math.max(0, now - since_ms);
  return <span data-testid="ticking">{ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : clock(ms)}</span>;
}

const MARKS: { [mark in Mark]: string } = { added: "+", removed: "−", changed: "±", here: "◉", refused: "⊘", passed: "✓" };
