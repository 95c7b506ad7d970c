// Renders a graph with the status of its nodes as an SVG file. Pure: from the layout, not from the page.
import type { Graph } from "../api/types";
import { kindLook } from "./node-kinds";
import type { GraphLayout } from "./layout-types";
import { edgeWords } from "./layout";
import { statusLook } from "./node-statuses";

const INK: { [status: string]: string } = {
  running: "#1b58c4", waiting: "#8a5706", asking: "#8a5706", retrying: "#8a5706", succeeded: "#12704a", failed: "#b3261e", rejected: "#b3261e", stopped: "#5d6878", skipped: "#5d6878",
};

/** The light colours of the kinds: a file has no theme. */
const KIND_INK: { [colour: string]: string } = {
  "--k-call": "#1b58c4", "--k-expr": "#6d3fc4", "--k-switch": "#8a5706", "--k-wait": "#0b6a7c", "--k-ask": "#a92568", "--k-flow": "#3d4a5c",
};

const safe = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
const short = (text: string, letters: number) => (text.length > letters ? text.slice(0, Math.max(1, letters - 1)) + "…" : text);

type States = { [node: string]: { status: string; visits: number } };

function node(graph: Graph, laid: GraphLayout, index: number, states?: States): string {
  const one = graph.nodes[index];
  const box = one && laid.boxes[one.id];
  if (!one || !box) return "";
  const status = states?.[one.id]?.status ?? "idle";
  const state = statusLook(status);
  const kind = kindLook(one.kind);
  const ink = INK[status] ?? "#3c4043";
  const letters = Math.floor((box.width - 56) / 7.2);
  const below = states && status !== "idle" ? `${state.sign} ${state.word}` : (one.tool ?? one.detail ?? kind.word);
  const dash = states && state.dash ? ` stroke-dasharray="${state.dash}"` : "";
  const outline = kind.outline(box.width, box.height);
  const hatch = states && state.hatched ? `<path d="${outline}" fill="url(#hatch)"/>` : "";
  return (
    `<g data-node="${safe(one.id)}" transform="translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})"><title>${safe(one.id)}</title>` +
    `<path d="${outline}" fill="#fff" stroke="${ink}" stroke-width="${status === "idle" ? 1.5 : 2.5}"${dash}/>${hatch}` +
    `<path d="${kind.icon}" transform="translate(18 ${box.height / 2 - 9}) scale(1.1)" fill="none" stroke="${KIND_INK[kind.colour] ?? ink}" stroke-width="1.4"/>` +
    `<text x="44" y="${box.height / 2 - 3}" font-weight="600">${safe(short(one.label, letters))}</text>` +
    `<text x="44" y="${box.height / 2 + 14}" font-size="11" fill="${states ? ink : "#5f6368"}">${safe(short(below, letters + 3))}</text></g>`
  );
}

/** The whole diagram as a standalone file; `styled` leaves the strokes of edges to a style sheet. */
export function svg(graph: Graph, laid: GraphLayout, states?: States, taken?: ReadonlySet<string>, styled = false): string {
  const edges = graph.edges.map((edge) => {
    const way = laid.ways[edge.id];
    if (!way) return "";
    const heavy = taken?.has(`${edge.from}>${edge.to}`);
    const dash = edge.kind === "error" ? ` stroke-dasharray="5 4"` : "";
    const label = edge.label
      ? `<text x="${way.label.x.toFixed(1)}" y="${(way.label.y + 4).toFixed(1)}" text-anchor="middle" font-size="11" stroke="#fff" stroke-width="3" paint-order="stroke">${safe(edgeWords(edge) ?? "")}</text>`
      : "";
    const stroke = styled ? "" : ` stroke="${heavy ? "#12704a" : "#80868b"}" stroke-width="${heavy ? 2.6 : 1.4}"`;
    return `<path data-way="${safe(`${edge.from}>${edge.to}`)}" d="${way.path}" fill="none"${stroke} marker-end="url(#tip)"${dash}/>${label}`;
  });
  const nodes = graph.nodes.map((_, index) => node(graph, laid, index, states));
  const [width, height] = [Math.ceil(laid.width), Math.ceil(laid.height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="#202124">`,
    `<title>${safe(graph.name)}</title><defs>`,
    `<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0,0L10,5L0,10z" fill="#80868b"/></marker>`,
    `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="7" fill="#b3261e" opacity=".25"/></pattern></defs>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...edges,
    ...nodes,
    "</svg>",
    "",
  ].join("\n");
}
