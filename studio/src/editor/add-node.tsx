// The form for a new node: its name, its kind, its required field, and the node it follows.
import { useEffect, useRef, useState } from "react";
import type { Edit, Graph } from "../api/types";
import { freeName, kindsOf, newNode, promptOf } from "./new-node";
import { Palette } from "./palette";
import { ToolPicker } from "./tool-picker";

export type AskedKind = { kind: string };
type Props = { graph: Graph; format: string; after?: string; /** Increases when a node is to be added. */ turn: number; /** The kind that was dropped and needs more. */ asked?: AskedKind; onEdit: (edits: Edit[]) => Promise<boolean> };

export function AddNode({ graph, format, after, turn, asked: dropped, onEdit }: Props) {
  const kinds = kindsOf(format);
  const [id, setId] = useState("");
  const [kind, setKind] = useState(kinds[0] ?? "call");
  const [what, setWhat] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const pick = (next: string) => {
    setKind(next);
    setWhat("");
    if (id.trim() === "") setId(freeName(graph, next));
    // The required field, or the name of a kind that needs nothing else.
    requestAnimationFrame(() => (form.current?.querySelector<HTMLInputElement>("[data-required] input") ?? input.current)?.focus());
  };
  // A `+` of the graph starts here.
  useEffect(() => {
    if (turn > 0) input.current?.focus();
  }, [turn]);
  useEffect(() => {
    if (dropped) pick(dropped.kind);
  }, [dropped]);
  const name = id.trim();
  const taken = graph.nodes.some((node) => node.id === name);
  const asked = promptOf(format, kind);
  const ready = name !== "" && !taken && (!asked || what.trim() !== "");
  const add = async () => {
    const node = newNode(format, kind, name, what, graph, after);
    if (!(await onEdit([{ op: "add_node", node, ...(after ? { after } : {}) }]))) return;
    setId("");
    setWhat("");
  };
  return (
    <>
    <Palette format={format} chosen={kind} onPick={pick} />
    <form
      ref={form}
      className="row add-node"
      aria-label="Add a node"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) void add();
      }}
    >
      <label>
        New node <input ref={input} value={id} spellCheck={false} placeholder="name" aria-invalid={taken || undefined} onChange={(event) => setId(event.target.value)} />
      </label>
      <select aria-label="Kind of the new node" value={kind} onChange={(event) => (setKind(event.target.value), setWhat(""))}>
        {kinds.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {asked && (
        <span data-required>
          {kind === "call" ? (
            <ToolPicker label={asked.label} value={what} placeholder={asked.hint} onChange={setWhat} />
          ) : (
            <label>
              {asked.label} <input value={what} spellCheck={false} placeholder={asked.hint} onChange={(event) => setWhat(event.target.value)} />
            </label>
          )}
        </span>
      )}
      <button type="submit" disabled={!ready}>
        {after ? `Add after ${after}` : "Add"}
      </button>
      {taken && <span className="hint">A node with this name already exists.</span>}
    </form>
    </>
  );
}
