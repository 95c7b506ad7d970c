// The form for a new node: its name, its kind, its required field, and the node it follows.
import { useState } from "react";
import type { Edit, Graph } from "../api/types";
import { promptOf, newNode, kindsOf } from "./new-node";

export function AddNode({ graph, format, after, onEdit }: { graph: Graph; format: string; after?: string; onEdit: (edits: Edit[]) => Promise<boolean> }) {
  const kinds = kindsOf(format);
  const [id, setId] = useState("");
  const [kind, setKind] = useState(kinds[0] ?? "call");
  const [what, setWhat] = useState("");
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
        New node <input value={id} spellCheck={false} placeholder="name" aria-invalid={taken || undefined} onChange={(event) => setId(event.target.value)} />
      </label>
      <select aria-label="Kind of the new node" value={kind} onChange={(event) => setKind(event.target.value)}>
        {kinds.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {asked && (
        <label>
          {asked.label} <input value={what} spellCheck={false} placeholder={asked.hint} onChange={(event) => setWhat(event.target.value)} />
        </label>
      )}
      <button type="submit" disabled={!ready}>
        {after ? `Add after ${after}` : "Add"}
      </button>
      {taken && <span className="hint">A node with this name already exists.</span>}
    </form>
  );
}
