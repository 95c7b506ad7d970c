// The toolbar of a graph: zoom, direction, search, download.
import { useReactFlow, useStore } from "@xyflow/react";
import type { Graph } from "../api/types";
import { download, downloadPng } from "../shell/download";
import { Icon } from "../ui/icon";
import { Menu } from "../ui/menu";
import { setDirection } from "./direction";
import type { GraphLayout } from "./layout-types";
import { mermaid } from "./mermaid";
import { svg } from "./svg";
import type { Folding } from "./use-folding";
import type { NodeState } from "./view";

type Props = {
  graph: Graph;
  laid: GraphLayout;
  states?: { [node: string]: NodeState };
  taken?: ReadonlySet<string>;
  onSearch: () => void;
  onAll: () => void;
  onReadable: () => void;
  folding: Folding;
};

export function GraphToolbar({ graph, laid, states, taken, onSearch, onAll, onReadable, folding }: Props) {
  const flow = useReactFlow();
  const picture = () => svg(graph, laid, states, taken);
  const other = graph.direction === "TB" ? "LR" : "TB";
  return (
    <div className="tools" role="toolbar" aria-label="Graph">
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => void flow.zoomOut()}>
        <Icon name="minus" />
      </button>
      <button type="button" className="zoom" title="Readable size (1)" onClick={onReadable}>
        <ZoomWords />
        <span className="unseen">, readable size</span>
      </button>
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => void flow.zoomIn()}>
        <Icon name="plus" />
      </button>
      <button type="button" aria-label="Show all" title="Show all (0)" onClick={onAll}>
        <Icon name="fit" />
      </button>
      <button type="button" title={other === "LR" ? "Draw left to right" : "Draw top down"} onClick={() => setDirection(other)}>
        {other}
        <span className="unseen">{other === "LR" ? ": draw left to right" : ": draw top down"}</span>
      </button>
      {folding.groups.size > 0 && (
        <button type="button" aria-pressed={folding.folded.size > 0} aria-label={folding.folded.size > 0 ? "Unfold all groups" : "Fold all groups"} title={folding.folded.size > 0 ? "Unfold all groups" : "Fold all groups (f: one)"} onClick={() => folding.foldAll(folding.folded.size === 0)}>
          <Icon name="layers" />
        </button>
      )}
      <button type="button" aria-label="Find a node" title="Find a node (/)" onClick={onSearch}>
        <Icon name="search" />
      </button>
      <Menu
        label="Save as"
        items={[
          { label: "Mermaid", onPick: () => download(`${graph.name}.mmd`, mermaid(graph), "text/plain") },
          { label: "SVG", onPick: () => download(`${graph.name}.svg`, picture(), "image/svg+xml") },
          { label: "PNG", onPick: () => void downloadPng(`${graph.name}.png`, picture(), laid.width, laid.height) },
        ]}
      >
        <Icon name="download" />
      </Menu>
    </div>
  );
}

function ZoomWords() {
  const percent = useStore((state) => Math.round(state.transform[2] * 100));
  return <span className="clock">{percent} %</span>;
}
