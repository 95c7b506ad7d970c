// The graph viewer: pan, zoom, search, arrow keys, and the state of a run.
import { Background, MiniMap, Panel, ReactFlow, ReactFlowProvider, useReactFlow, useStore, ViewportPortal, type Connection } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Graph, NodeStatus } from "../api/types";
import { isArrow, neighbour } from "./keyboard";
import { useLayout } from "./use-layout";
import type { Band, GraphLayout } from "./layout-types";
import { EdgeView } from "./edge";
import { NodeView, type Mark, type FlowNode, type NodeTime } from "./node";
import { landmarks, zoomStep } from "./landmarks";
import { useElements } from "./elements";
import { NodeSearch } from "./node-search";
import { GraphToolbar } from "./toolbar";
import { useDirected } from "./direction";
import { useDrop, type DropPlace } from "./drop";
import { FAR_ZOOM, readableViewport, wholeViewport, ZOOM_MAX, ZOOM_MIN } from "./viewport";
import { useFolding, type Folding } from "./use-folding";
import { useTheme } from "../shell/theme";

export type NodeState = { status: NodeStatus; visits: number };

export type GraphProps = {
  graph: Graph;
  /** The accessible name of this graph. */
  name: string;
  /** The status of each node; without it the graph is shown without a run. */
  states?: { [node: string]: NodeState };
  /** Since when a node is busy, or how long it took. */
  times?: { [node: string]: NodeTime };
  /** The node that the view starts at if the graph is larger than the view. */
  around?: string;
  /** Edges that were taken, as `from>to`. */
  taken?: ReadonlySet<string>;
  selected?: string;
  onSelect?: (node: string | undefined) => void;
  /** Called on Enter or a double click on a node. */
  onOpen?: (node: string) => void;
  breakpoints?: { [node: string]: string | true };
  onBreak?: (node: string) => void;
  flaws?: { [node: string]: number };
  marks?: { [node: string]: Mark };
  remarks?: { [node: string]: string };
  /** Set if edges can be drawn by hand. */
  onConnect?: (from: string, to: string) => void;
  onDelete?: (node: string) => void;
  /** Set if nodes can be added on edges; called with the node before the new one. */
  onInsert?: (from: string) => void;
  /** Set if kinds of nodes can be dropped here. */
  onDropKind?: (kind: string, place: DropPlace) => void;
  children?: ReactNode;
};

const nodeTypes = { shown: NodeView };
/** Small, so that it covers little of the graph. */
const MAP = { width: 136, height: 100 };
/** A graph with more nodes always gets the overview. */
const MANY = 40;
const edgeTypes = { shown: EdgeView };

export function GraphView(props: GraphProps) {
  return (
    <ReactFlowProvider>
      <GraphWithLayout {...props} />
    </ReactFlowProvider>
  );
}

function GraphWithLayout(props: GraphProps) {
  const folding = useFolding({ ...props, graph: useDirected(props.graph) });
  const ready = useLayout(folding.graph);
  if (!ready) return <div className="graph empty" role="status">Drawing {props.graph.nodes.length} nodes…</div>;
  return <Canvas {...props} states={folding.states} taken={folding.taken} graph={ready.graph} laid={ready.laid} folding={folding} />;
}

function Canvas(props: GraphProps & { laid: GraphLayout; folding: Folding }) {
  const { graph, laid, folding, name, selected, onSelect, onOpen, onBreak, onConnect, onDelete } = props;
  const [searching, setSearching] = useState(false);
  const frame = useRef<HTMLElement>(null);
  const flow = useReactFlow();
  const { shown } = useTheme();
  const { nodes, edges, tab } = useElements(props);
  const reveal = useReveal(laid, frame);
  const far = useStore((state) => state.transform[2] < FAR_ZOOM);
  const look = useCallback(
    (whole: boolean) => {
      const box = frame.current?.getBoundingClientRect();
      if (!box) return;
      void flow.setViewport(whole ? wholeViewport(laid, box.width, box.height) : readableViewport(laid, box.width, box.height, selected ?? props.around ?? graph.nodes.find((node) => node.kind === "entry")?.id ?? graph.nodes[0]?.id));
    },
    [flow, laid, graph, selected, props.around],
  );
  // A new layout starts readable; the viewport of a graph that only changes its state stays.
  const shape = `${graph.name} ${graph.direction}`;
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) look(false);
  }, [shape, laid.width === 0]);

  // A selection made elsewhere, in a text or on a timeline, is scrolled into view too.
  useEffect(() => {
    if (selected !== undefined) reveal(selected, false);
  }, [selected]);

  const choose = useCallback(
    (id: string, focus = true) => {
      onSelect?.(id);
      reveal(id, focus);
    },
    [onSelect, reveal],
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.metaKey || event.ctrlKey || event.altKey) return;
    const here = selected ?? tab;
    if (event.key === "/") setSearching(true);
    else if (event.key === "Escape") onSelect?.(undefined);
    else if (event.key === "+" || event.key === "=") void flow.zoomIn();
    else if (event.key === "-") void flow.zoomOut();
    else if (event.key === "0") look(true);
    else if (event.key === "1") look(false);
    else if (!here || event.target instanceof HTMLButtonElement) return;
    else if (isArrow(event.key)) {
      const next = selected ? neighbour(graph, laid, here, event.key) : here;
      if (next) choose(next);
    } else if (event.key === "Enter" || event.key === " ") {
      choose(here);
      onOpen?.(here);
    } else if (event.key === "f" && folding.groups.has(here)) folding.toggle(here);
    else if (event.key === "b" && onBreak) onBreak(here);
    else if ((event.key === "Delete" || event.key === "Backspace") && onDelete && selected) onDelete(selected);
    else return;
    event.preventDefault();
  };

  const drop = useDrop(props.onDropKind);
  const connect = useCallback(({ source, target }: Connection) => onConnect?.(source, target), [onConnect]);

  return (
    <section className={graph.nodes.length > MANY ? "graph many" : "graph"} data-far={far || undefined} aria-label={name} ref={frame} onKeyDown={onKeyDown} data-nodes={graph.nodes.length} data-dropping={drop.over || undefined} {...drop.handlers}>
      <Hatch />
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        colorMode={shown}
        minZoom={ZOOM_MIN}
        onInit={() => {
          first.current = false;
          look(false);
        }}
        maxZoom={ZOOM_MAX}
        onlyRenderVisibleElements={graph.nodes.length > 60}
        nodesDraggable={false}
        nodesConnectable={!!onConnect}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        zoomOnDoubleClick={false}
        proOptions={{ hideAttribution: true }}
        onConnect={connect}
        onNodeClick={(event, node) => {
          if (event.target instanceof Element && event.target.closest("[data-fold]")) return folding.toggle(node.id);
          // A node that stands for a layer is no node of the graph: it opens.
          if (folding.groups.get(node.id)?.headed === false) return folding.toggle(node.id);
          const dot = event.target instanceof Element && event.target.closest("[data-break]");
          if (onBreak && (dot || event.altKey)) onBreak(node.id);
          else choose(node.id);
        }}
        onNodeDoubleClick={(_, node) => onOpen?.(node.id)}
        onPaneClick={() => onSelect?.(undefined)}
      >
        <Background gap={20} size={1} />
        {props.states && laid.bands.some((band) => band.layer !== undefined) && <Bands bands={laid.bands} />}
        {far && <Landmarks graph={graph} laid={laid} states={props.states} folding={folding} />}
        <MiniMap<FlowNode> style={MAP} pannable zoomable ariaLabel="Overview of the graph" nodeClassName={(node) => `mini ${node.data.live ? (node.data.status ?? "idle") : "idle"}`} />
        <Panel position="top-left">
          {searching && <NodeSearch graph={graph} onPick={(id) => choose(id)} onClose={() => setSearching(false)} />}
        </Panel>
        <Panel position="top-right">
          <GraphToolbar graph={graph} laid={laid} states={props.states} taken={props.taken} onSearch={() => setSearching(true)} onAll={() => look(true)} onReadable={() => look(false)} folding={folding} />
        </Panel>
        {props.children}
      </ReactFlow>
    </section>
  );
}

/** Scrolls a node into view without changing the zoom, and focuses it. */
function useReveal(laid: GraphLayout, frame: React.RefObject<HTMLElement | null>) {
  const { setCenter, getViewport, flowToScreenPosition } = useReactFlow();
  const wanted = useRef<string>(undefined);
  useEffect(() => {
    if (!wanted.current) return;
    const node = frame.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(wanted.current)}"]`);
    if (node) {
      node.focus({ preventScroll: true });
      wanted.current = undefined;
    }
  });
  return useCallback(
    (id: string, focus: boolean) => {
      const box = laid.boxes[id];
      const seen = frame.current?.getBoundingClientRect();
      if (!box || !seen) return;
      if (focus) wanted.current = id;
      const upper = flowToScreenPosition({ x: box.x, y: box.y });
      const lower = flowToScreenPosition({ x: box.x + box.width, y: box.y + box.height });
      const inside = upper.x >= seen.left && upper.y >= seen.top && lower.x <= seen.right && lower.y <= seen.bottom;
      if (!inside) void setCenter(box.x + box.width / 2, box.y + box.height / 2, { zoom: Math.max(getViewport().zoom, 0.5) });
    },
    [laid, frame, setCenter, getViewport, flowToScreenPosition],
  );
}

/** How important a node is from afar: what a reader has to know, then large groups, then branches. */
const FROM_AFAR: { [status: string]: number } = { asking: 9, failed: 8, rejected: 8, running: 7, starting: 7, retrying: 7 };

/** The names of nodes at the size of the page, whatever the zoom. */
function Landmarks({ graph, laid, states, folding }: { graph: Graph; laid: GraphLayout; states?: { [node: string]: NodeState }; folding: Folding }) {
  const zoom = useStore((state) => state.transform[2]);
  const step = zoomStep(zoom);
  const shown = useMemo(
    () => landmarks(graph, laid, step, (id) => (FROM_AFAR[states?.[id]?.status ?? ""] ?? 0) * 1_000 + (folding.groups.get(id)?.members.length ?? 0)),
    [graph, laid, step, states, folding.groups],
  );
  return (
    <ViewportPortal>
      {shown.map(({ id, label, x, y }) => (
        <span key={id} className="landmark" data-landmark={id} aria-hidden="true" style={{ transform: `translate(${x}px, ${y}px) scale(${1 / zoom}) translate(-50%, -50%)` }}>
          {label}
        </span>
      ))}
    </ViewportPortal>
  );
}

function Bands({ bands }: { bands: Band[] }) {
  return (
    <ViewportPortal>
      {bands.map((band) => (
        <div
          key={band.rank}
          className="band"
          style={{ transform: `translate(${band.x}px, ${band.y}px)`, width: band.width, height: band.height }}
        >
          {band.layer !== undefined && <span>layer {band.layer}</span>}
        </div>
      ))}
    </ViewportPortal>
  );
}

/** The pattern of failed nodes. */
function Hatch() {
  return useMemo(
    () => (
      <svg width="0" height="0" className="unseen" aria-hidden="true">
        <defs>
          <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="2" height="7" className="hatch-line" />
          </pattern>
        </defs>
      </svg>
    ),
    [],
  );
}
