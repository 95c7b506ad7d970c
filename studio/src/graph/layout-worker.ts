// Computes the layout of large graphs in a worker, so that the page stays responsive.
import type { Graph } from "../api/types";
import { layout } from "./layout";

addEventListener("message", (event: MessageEvent<{ turn: number; graph: Graph }>) => {
  const { turn, graph } = event.data;
  try {
    postMessage({ turn, laid: layout(graph) });
  } catch (wrong) {
    postMessage({ turn, wrong: String(wrong) });
  }
});
