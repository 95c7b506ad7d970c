// A new node: its name, its kind, and after which node it comes.
import { useState } from "react";
import type { Edit, Graph } from "../api/types";

const KINDS: { [format: string]: string[] } = {
  yaml: ["call", "compute", "choose", "wait", "workflow", "exit"],
  dag: ["call", "compute"],
  ir: ["call"],
};

export function AddNode({ graph, format, after, onEdit }: { graph: Graph; format: string; after?: string; onEdit: (edits: Edit[]) => Promise<boolean> }) {
  const kinds = KINDS[format] ?? ["call"];
  const [id, setId] = useState("");
  const [kind, setKind] = useState(kinds[0] ?? "call");
  const name = id.trim();
  const taken = graph.nodes.some((node) => node.id === name);
  const add = async () => {
    const fresh: Edit = { op: "add_node", node: { id: name, kind }, ...(after ? { after } : {}) };
    if (await onEdit([fresh])) setId("");
  };
  return (
    <form
      className="row add-node"
      aria-label="Add a node"
      onSubmit={(event) => {
        event.preventDefault();
        if (name && !taken) void add();
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
      <button type="submit" disabled={!name || taken}>
        {after ? `Add after ${after}` : "Add"}
      </button>
      {taken && <span className="hint">There is a node of this name.</span>}
    </form>
  );
}
