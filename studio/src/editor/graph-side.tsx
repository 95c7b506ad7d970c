// The graph beside the text: what is changed here is changed there.
import type { EditorView } from "@codemirror/view";
import type { DocumentText, Edit, Flaw, Graph, Schema } from "../api/types";
import { GraphView } from "../graph/view";
import { Trouble } from "../shell/load";
import { AddNode } from "./add";
import { byNode } from "./flaws";
import { NodePanel } from "./panel";
import { lies } from "./places";
import { fieldsOf, isEditable } from "./raw";
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

export function GraphSide({ document, view, graph, flaws, schema, selected, onSelect }: Props) {
  const { edit, wrong, settle, say } = useEdits(document, view, graph.name);
  const editable = document.writable && isEditable(document.format);
  // What the document does not write cannot be put after, connected or removed.
  const written = (id: string) => graph.nodes.some((node) => node.id === id && node.line !== undefined);
  const change = (ids: string[], what: Edit) => {
    const missing = ids.find((id) => !written(id));
    if (missing === undefined) void edit([what]);
    else say(`The document does not write the node ${missing}: it stands for something said elsewhere in it.`);
  };
  const known = graph.nodes.some((node) => node.id === selected) ? selected : undefined;
  const here = view && known !== undefined ? lies(view, document.format)[known] : undefined;
  const fields = view && here ? fieldsOf(view.state.doc.toString(), here, document.format) : undefined;
  return (
    <>
      {wrong && <Trouble wrong={wrong} again={settle} />}
      {editable && <AddNode graph={graph} format={document.format} after={known !== undefined && written(known) ? known : undefined} onEdit={edit} />}
      <div className="graph-row">
        <GraphView
          graph={graph}
          name={`Graph of ${graph.name}`}
          selected={selected}
          onSelect={onSelect}
          flaws={byNode(flaws, graph.name)}
          onConnect={editable ? (from, target) => change([from, target], { op: "connect", from, to: target }) : undefined}
          onDelete={editable ? (id) => change([id], { op: "remove_node", id }) : undefined}
        />
        {editable && (
          <aside className="node-panel" aria-label="The chosen node">
            {known === undefined ? (
              <p className="quiet">A click on a node, or the cursor in its lines, shows it here.</p>
            ) : (
              <NodePanel graph={graph} node={known} format={document.format} fields={fields} schema={schema} onEdit={edit} />
            )}
          </aside>
        )}
      </div>
    </>
  );
}
