// The form for a new node: its name, its kind, its required field, and the node it follows.
import { useEffect, useRef, useState } from "react";
import type { Edit, Graph } from "../api/types";
import { promptOf, newNode, kindsOf } from "./new-node";
import { ToolPicker } from "./tool-picker";

type Props = { graph: Graph; format: string; after?: string; /** Increases when a node is to be added. */ turn: number; onEdit: (edits: Edit[]) => Promise<boolean> };

export function AddNode({ graph, format, after, turn, onEdit }: Props) {
  const kinds = kindsOf(format);
  const [id, setId] = useState("");
  const [kind, setKind] = useState(kinds[0] ?? "call");
  const [what, setWhat] = useState("");
  const input = useRef<HTMLInputElement>(null);
  // A `+` of the graph starts here.
  useEffect(() => {
    if (turn > 0) input.current?.focus();
  }, [turn]);
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
    <form
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
        kind === "call" ? (
          <ToolPicker label={asked.label} value={what} placeholder={asked.hint} onChange={setWhat} />
        ) : (
        <label>
          {asked.label} <input value={what} spellCheck={false} placeholder={asked.hint} onChange={(event) => setWhat(event.target.value)} />
        </label>
        )
      )}
      <button type="submit" disabled={!ready}>
        {after ? `Add after ${after}` : "Add"}
      </button>
      {taken && <span className="hint">A node with this name already exists.</span>}
    </form>
  );
}
