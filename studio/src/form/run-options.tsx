// Options of a new run: breakpoints, and a halt before its first step.
import { useEffect, useId, useState } from "react";
import { api } from "../api/client";
import type { Breakpoint, Tool } from "../api/types";
import { isPin } from "../run/pins";

/** Characters of a pinned output that are shown. */
const PIN_CHARS_MAX = 80;

export type StartOptions = { breakpoints: Breakpoint[]; pause: boolean; session: string; /** The breakpoints that were last set for this workflow. */ earlier: Breakpoint[] };
export const defaultOptions: StartOptions = { breakpoints: [], pause: false, session: "", earlier: [] };

export function RunOptions({ tool, value, onChange }: { tool: Tool; value: StartOptions; onChange: (value: StartOptions) => void }) {
  const [open, setOpen] = useState(value.breakpoints.length > 0);
  const nodes = useNodes(tool, open);
  const list = useId();
  const setBreaks = (breakpoints: Breakpoint[]) => onChange({ ...value, breakpoints });
  return (
    <details className="part" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Run options</summary>
      <label className="check">
        <input type="checkbox" checked={value.pause} onChange={(event) => onChange({ ...value, pause: event.target.checked })} /> halt before the first step
      </label>
      <fieldset className="group">
        <legend>Breakpoints</legend>
        <datalist id={list}>
          {nodes.map((node) => (
            <option key={node} value={node} />
          ))}
        </datalist>
        {value.breakpoints.map((one, index) => {
          if (isPin(one)) return null;
          const change = (next: Partial<Breakpoint>) => setBreaks(value.breakpoints.map((old, at) => (at === index ? { ...old, ...next } : old)));
          return (
            <div className="row" key={index}>
              <input aria-label={`Node of breakpoint ${index + 1}`} list={list} placeholder="node" value={one.node} onChange={(event) => change({ node: event.target.value })} />
              <input aria-label={`Condition of breakpoint ${index + 1}`} placeholder="when (JSONata), or always" value={typeof one.when === "string" ? one.when : ""} onChange={(event) => change({ when: event.target.value || undefined })} />
              <button type="button" aria-label={`Remove breakpoint ${index + 1}`} onClick={() => setBreaks(value.breakpoints.filter((_, at) => at !== index))}>
                −
              </button>
            </div>
          );
        })}
        {value.earlier.some((one) => !isPin(one)) && value.breakpoints.every(isPin) && (
          <button type="button" onClick={() => setBreaks([...value.breakpoints, ...value.earlier.filter((one) => !isPin(one))])}>
            Use the last breakpoints: {value.earlier.filter((one) => !isPin(one)).map((one) => one.node).join(", ")}
          </button>
        )}
        <button type="button" onClick={() => setBreaks([...value.breakpoints, { node: "" }])}>
          Add a breakpoint
        </button>
      </fieldset>
      {value.earlier.some(isPin) && (
        <fieldset className="group">
          <legend>Pinned outputs</legend>
          {value.earlier.filter(isPin).map((one) => (
            <label key={one.node} className="check">
              <input
                type="checkbox"
                checked={value.breakpoints.some((other) => isPin(other) && other.node === one.node)}
                onChange={(event) => setBreaks(event.target.checked ? [...value.breakpoints, one] : value.breakpoints.filter((other) => !isPin(other) || other.node !== one.node))}
              />{" "}
              <span>
                do not run <strong>{one.node}</strong>, use <code>{JSON.stringify(one.output).slice(0, PIN_CHARS_MAX)}</code>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <div className="field">
        <label htmlFor={`${list}-session`}>Session</label>
        <input id={`${list}-session`} value={value.session} placeholder="a label that groups runs" onChange={(event) => onChange({ ...value, session: event.target.value })} />
      </div>
    </details>
  );
}

/** The nodes of a workflow, for breakpoints; available if its document is open here. */
function useNodes(tool: Tool, wanted: boolean): string[] {
  const [nodes, setNodes] = useState<string[]>([]);
  useEffect(() => {
    if (!wanted || !tool.document) return;
    let over = false;
    const look = async (id: string) => {
      const { text, format, name } = await api.document(id);
      const { workflows } = await api.check({ text, format, name });
      const graph = workflows.find((one) => one.name === tool.name)?.graph;
      if (!over && graph) setNodes(graph.nodes.map((node) => node.id));
    };
    // Without the list, type a node by hand.
    look(tool.document).catch(() => {});
    return () => {
      over = true;
    };
  }, [wanted, tool.document, tool.name]);
  return nodes;
}
