// The HTML file of a shared run. Pure: everything in it is data that was escaped, and a small script. No request leaves it.
import type { Graph, Run, StepView } from "../api/types";
import type { GraphLayout } from "../graph/layout-types";
import { svg } from "../graph/svg";

export type SharedEvent = { seq: number; at_ms: number; event: string; status: string; nodes: { [node: string]: string }; taken: string[] };
export type Shared = { run: Run; graph: Graph; laid: GraphLayout; events: SharedEvent[]; steps: StepView[] };

const safe = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
/** JSON inside a script element: no text in it can end the element. */
const inScript = (value: unknown) => JSON.stringify(value).replace(/</g, "\\u003c").replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");

const STYLE = `:root{color-scheme:light dark;--bg:#f6f7f9;--panel:#fff;--ink:#131a24;--quiet:#566173;--line:#e2e6ec;--accent:#0f6b6b}
@media(prefers-color-scheme:dark){:root{--bg:#0e1116;--panel:#161b22;--ink:#e8edf4;--quiet:#a4b0c0;--line:#2a333f;--accent:#4fd1c5}}
*{box-sizing:border-box}body{margin:0;font:14px/1.5 Inter,system-ui,sans-serif;background:var(--bg);color:var(--ink)}
header,main{max-width:1200px;margin:0 auto;padding:16px}h1{font-size:20px;margin:0}h2{font-size:15px;margin:16px 0 8px}.quiet{color:var(--quiet)}
.graph{overflow:auto;background:#fff;border:1px solid var(--line);border-radius:12px;max-height:70vh}.graph svg{display:block}
.travel{display:flex;gap:10px;align-items:center;margin:12px 0;flex-wrap:wrap}.travel input{flex:1;min-width:200px;accent-color:var(--accent)}
details{background:var(--panel);border:1px solid var(--line);border-radius:8px;margin:6px 0;padding:6px 12px}summary{cursor:pointer}pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px;margin:6px 0}
[data-state=idle]{opacity:.45}[data-state=running]>path:first-of-type{stroke:#1b58c4;stroke-width:3}[data-state=waiting]>path:first-of-type{stroke:#8a5706;stroke-width:3;stroke-dasharray:3 4}
[data-state=succeeded]>path:first-of-type{stroke:#12704a;stroke-width:2.5}[data-state=failed]>path:first-of-type{stroke:#b3261e;stroke-width:3}[data-state=skipped]{opacity:.35}
[data-way]{stroke:#8b95a3;stroke-width:1.4}[data-way][data-taken]{stroke:#12704a;stroke-width:2.6}`;

const SCRIPT = `const data=JSON.parse(document.getElementById("data").textContent),slider=document.getElementById("at"),words=document.getElementById("words");
function show(){const one=data[slider.value-1];if(!one)return;words.textContent="event "+one.seq+" · "+one.event+" · run "+one.status+" · "+new Date(one.at_ms).toLocaleString();
document.querySelectorAll("[data-node]").forEach(n=>n.dataset.state=one.nodes[n.dataset.node]||"idle");
document.querySelectorAll("[data-way]").forEach(w=>one.taken.includes(w.dataset.way)?w.dataset.taken="":delete w.dataset.taken)}
slider.addEventListener("input",show);show()`;

export function sharePage({ run, graph, laid, events, steps }: Shared): string {
  const drawn = svg(graph, laid, undefined, undefined, true);
  const value = (name: string, of: unknown) => (of === undefined || of === null ? "" : `<p class="quiet">${name}</p><pre>${safe(JSON.stringify(of, null, 2))}</pre>`);
  const step = (one: StepView) =>
    `<details><summary><strong>${safe(one.node)}</strong> <span class="quiet">step ${one.step} · ${safe(one.status)}${typeof one.duration_ms === "number" ? ` · ${one.duration_ms} ms` : ""}${one.tool ? ` · ${safe(one.tool)}` : ""}</span></summary>` +
    `${value("Input", one.input)}${value("Error", one.error)}${value("Output", one.output)}</details>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${safe(run.workflow)}: ${safe(run.status)}</title><style>${STYLE}</style></head>
<body><header><h1>${safe(run.workflow)}</h1><p class="quiet">${safe(run.status)} · ${run.steps} steps · ${safe(new Date(run.started_ms).toISOString())} · ${safe(run.run_id)}</p></header>
<main><div class="travel"><label for="at">Event</label><input id="at" type="range" min="1" max="${Math.max(1, events.length)}" value="${Math.max(1, events.length)}"><span id="words" role="status"></span></div>
<div class="graph" tabindex="0" role="region" aria-label="Graph">${drawn}</div>
<h2>Input and outcome</h2>${value("Input", run.input)}${value("Outcome", run.outcome)}
<h2>Steps</h2>${steps.map(step).join("\n")}</main>
<script type="application/json" id="data">${inScript(events)}</script><script>${SCRIPT}</script></body></html>
`;
}
