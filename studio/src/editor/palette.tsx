// The palette of node kinds: drag one into the graph, or click it to fill in the form.
import { kindLook } from "../graph/node-kinds";
import { KIND_TYPE } from "../graph/drop";
import { kindsOf, PALETTE } from "./new-node";

type Props = { format: string; chosen: string; onPick: (kind: string) => void };

export function Palette({ format, chosen, onPick }: Props) {
  return (
    <div className="palette" role="group" aria-label="Kinds of nodes: drag one into the graph">
      {kindsOf(format).map((kind) => {
        const look = kindLook(PALETTE[kind]?.look ?? "call");
        return (
          <button
            key={kind}
            type="button"
            className="palette-kind"
            draggable
            aria-pressed={kind === chosen}
            title={`Drag into the graph: ${kind}`}
            style={{ "--kind": `var(${look.colour})` } as React.CSSProperties}
            onClick={() => onPick(kind)}
            onDragStart={(event) => {
              event.dataTransfer.setData(KIND_TYPE, kind);
              event.dataTransfer.effectAllowed = "copy";
            }}
          >
            <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
              <path d={look.icon} />
            </svg>
            {kind}
          </button>
        );
      })}
    </div>
  );
}
