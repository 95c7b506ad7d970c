// The graph next to the text: edits here change the text.
import type { EditorView } from "@codemirror/view";
import { useCallback, useState } from "react";
import type { DocumentText, Edit, Flaw, Graph, Schema } from "../api/types";
import type { DropPlace } from "../graph/drop";
import { GraphView } from "../graph/view";
import { ErrorMessage } from "../shell/load";
import { AddNode, type AskedKind } from "./add-node";
import { countByNode } from "./flaws";
import { NodePanel } from "./node-panel";
import { nodeExtents } from "./node-positions";
import { freeName, newNode, PALETTE } from "./new-node";
import { fieldsOf, isEditable } from "./node-fields";
import { useEdits } from "./use-edits";

type Props = {
  document: DocumentText;
  view?: EditorView;
  graph: Graph;
  flaws: Flaw[];
  schema?: Schema;
  selected?: string;
  onSelect: (node: string | undefined) => void;
};

export function GraphPane({ document, view, graph, flaws, schema, selected, onSelect }: Props) {
  const { edit, wrong, settle, say } = useEdits(document, view, graph.name);
  const [turn, setTurn] = useState(0);
  const editable = document.writable && isEditable(document.format);
  // Implicit nodes cannot be followed, connected or removed.
  const written = (id: string) => graph.nodes.some((node) => node.id === id && node.line !== undefined);
  const change = (ids: string[], what: Edit) => {
    const missing = ids.find((id) => !written(id));
    if (missing === undefined) void edit([what]);
    else say(`The node ${missing} is implicit in this document and cannot be edited in the graph.`);
  };
  const insert = useCallback(
    (from: string) => {
      onSelect(from);
      setTurn((now) => now + 1);
    },
    [onSelect],
  );
  const [asked, setAsked] = useState<AskedKind>();
  const drop = async (kind: string, { after: on }: DropPlace) => {
    const after = on !== undefined && written(on) ? on : undefined;
    const start = PALETTE[kind]?.start;
    if (after) onSelect(after);
    if (start === undefined) {
      // A call needs its tool first.
      setAsked({ kind });
      setTurn((now) => now + 1);
      return;
    }
    const name = freeName(graph, kind);
    const node = newNode(document.format, kind, name, start, graph, after);
    if (await edit([{ op: "add_node", node, ...(after ? { after } : {}) }])) onSelect(name);
  };
  const known = graph.nodes.some((node) => node.id === selected) ? selected : undefined;
  const here = view && known !== undefined ? nodeExtents(view, document.format)[known] : undefined;
  const fields = view && here ? fieldsOf(view.state.doc.toString(), here, document.format) : undefined;
  return (
    <>
      {wrong && <ErrorMessage wrong={wrong} again={settle} />}
      {editable && <AddNode graph={graph} format={document.format} after={known !== undefined && written(known) ? known : undefined} turn={turn} asked={asked} onEdit={edit} />}
      <div className="graph-row">
        <GraphView
          graph={graph}
          name={`Graph of ${graph.name}`}
          selected={selected}
          onSelect={onSelect}
          flaws={countByNode(flaws, graph.name)}
          onConnect={editable ? (from, target) => change([from, target], { op: "connect", from, to: target }) : undefined}
          onInsert={editable ? insert : undefined}
          onDropKind={editable ? (kind, place) => void drop(kind, place) : undefined}
          onDelete={editable ? (id) => change([id], { op: "remove_node", id }) : undefined}
        />
        {editable && (
          <aside className="node-panel" aria-label="Selected node">
            {known === undefined ? (
              <p className="quiet">Click a node, or put the cursor on its lines, to edit it here.</p>
            ) : (
              <NodePanel graph={graph} node={known} format={document.format} fields={fields} schema={schema} onEdit={edit} />
            )}
          </aside>
        )}
      </div>
    </>
  );
}
