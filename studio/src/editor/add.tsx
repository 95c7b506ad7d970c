// A new node: its name, its kind, what it cannot do without, and after which node it comes.
import { useState } from "react";
import type { Edit, Graph } from "../api/types";
import { askOf, freshNode, kindsOf } from "./fresh";

export function AddNode({ graph, format, after, onEdit }: { graph: Graph; format: string; after?: string; onEdit: (edits: Edit[]) => Promise<boolean> }) {
  const kinds = kindsOf(format);
  const [id, setId] = useState("");
  const [kind, setKind] = useState(kinds[0] ?? "call");
  const [what, setWhat] = useState("");
  const name = id.trim();
  const taken = graph.nodes.some((node) => node.id === name);
  const asked = askOf(format, kind);
  const ready = name !== "" && !taken && (!asked || what.trim() !== "");
  const add = async () => {
    const node = freshNode(format, kind, name, what, graph, after);
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
        New node <input value={id} spellCheck={false} placeholder="its name" aria-invalid={taken || undefined} onChange={(event) => setId(event.target.value)} />
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
      {taken && <span className="hint">There is a node of this name.</span>}
    </form>
  );
}
