// The toolbar of a graph: zoom, search, download.
import { useReactFlow } from "@xyflow/react";
import type { Graph } from "../api/types";
import { download, downloadPng } from "../shell/download";
import type { GraphLayout } from "./layout-types";
import { mermaid } from "./mermaid";
import { svg } from "./svg";
import type { NodeState } from "./view";

/** Fit below the buttons, with some margin, and never enlarged. */
export const FIT = { maxZoom: 1, padding: { top: "52px", right: "12px", bottom: "12px", left: "12px" } } as const;

type Props = {
  graph: Graph;
  laid: GraphLayout;
  states?: { [node: string]: NodeState };
  taken?: ReadonlySet<string>;
  onSearch: () => void;
};

export function GraphToolbar({ graph, laid, states, taken, onSearch }: Props) {
  const flow = useReactFlow();
  const picture = () => svg(graph, laid, states, taken);
  const takeAway = (kind: string) => {
    if (kind === "mermaid") download(`${graph.name}.mmd`, mermaid(graph), "text/plain");
    if (kind === "svg") download(`${graph.name}.svg`, picture(), "image/svg+xml");
    if (kind === "png") void downloadPng(`${graph.name}.png`, picture(), laid.width, laid.height);
  };
  return (
    <div className="tools" role="toolbar" aria-label="Graph">
      <button type="button" aria-label="Zoom in" onClick={() => void flow.zoomIn()}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => void flow.zoomOut()}>
        −
      </button>
      <button type="button" aria-label="Show all" title="Show all (0)" onClick={() => void flow.fitView(FIT)}>
        ⤢
      </button>
      <button type="button" aria-label="Find a node" title="Find a node (/)" onClick={onSearch}>
        /
      </button>
      <select aria-label="Save as" value="" onChange={(event) => takeAway(event.target.value)}>
        <option value="">Save as…</option>
        <option value="mermaid">Mermaid</option>
        <option value="svg">SVG</option>
        <option value="png">PNG</option>
      </select>
    </div>
  );
}
