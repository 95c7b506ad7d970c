// A layout for tests without the binary: ranks by longest path, nodes side by side, straight edges.
import type { LayoutReply, LayoutRequest } from "../src/graph/layout-types";

const GAP = 40;

export function layered({ direction, nodes, edges }: LayoutRequest): LayoutReply {
  const ranks = new Map(nodes.map((node) => [node.id, 0]));
  const waiting = new Map(nodes.map((node) => [node.id, edges.filter((edge) => edge.to === node.id && edge.from !== node.id).length]));
  const ready = nodes.filter((node) => waiting.get(node.id) === 0).map((node) => node.id);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const edge of edges.filter((one) => one.from === id && one.to !== id)) {
      ranks.set(edge.to, Math.max(ranks.get(edge.to) ?? 0, (ranks.get(id) ?? 0) + 1));
      waiting.set(edge.to, (waiting.get(edge.to) ?? 1) - 1);
      if (waiting.get(edge.to) === 0) ready.push(edge.to);
    }
  }
  const upright = direction === "TB";
  const reply: LayoutReply = { width: 0, height: 0, nodes: {}, edges: {} };
  const used = new Map<number, number>();
  for (const { id, width, height } of nodes) {
    const rank = ranks.get(id) ?? 0;
    const across = used.get(rank) ?? GAP;
    const along = GAP + rank * (GAP + (upright ? height : 300));
    reply.nodes[id] = { x: upright ? across : along, y: upright ? along : across, width, height };
    used.set(rank, across + GAP + (upright ? width : height));
    reply.width = Math.max(reply.width, reply.nodes[id].x + width + GAP);
    reply.height = Math.max(reply.height, reply.nodes[id].y + height + GAP);
  }
  for (const { id, from, to } of edges) {
    const [one, other] = [reply.nodes[from], reply.nodes[to]];
    if (!one || !other) continue;
    const [x, y, toX, toY] = [one.x + one.width / 2, one.y + one.height, other.x + other.width / 2, other.y];
    reply.edges[id] = { path: `M${x} ${y}L${toX} ${toY}`, label: [(x + toX) / 2, (y + toY) / 2] };
  }
  return reply;
}
