// A document open for editing: text and graph side by side, each following the other.
import { redo, undo } from "@codemirror/commands";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { DocumentText, Flaw, Graph, Schema } from "../api/types";
import { GraphView } from "../graph/view";
import { Link, to } from "../router";
import { Trouble, useLoad } from "../shell/load";
import { AddNode } from "./add";
import { goTo, linesOf, selectLines, showLines } from "./code";
import { Conflict } from "./conflict";
import { nodeAt } from "./extent";
import { FlawList } from "./flaw-list";
import { byNode, spot } from "./flaws";
import { NodePanel } from "./panel";
import { lies } from "./places";
import { fieldsOf, isEditable } from "./raw";
import type { Source } from "./complete";
import { useChecked } from "./use-checked";
import { useEditor } from "./use-editor";
import { useEdits } from "./use-edits";
import { useSave, type Saving } from "./use-save";

export function EditorPage({ document, onReload }: { document: DocumentText; onReload: () => void }) {
  const source = useRef<Source>({ format: document.format, known: { nodes: [], tools: [] } });
  const save = useRef(() => {});
  const editor = useEditor(document, () => source.current, () => save.current());
  const { view, turn, line } = editor;
  const [named, setNamed] = useState<string>();
  const [selected, setSelected] = useState<string>();
  const judged = useChecked(document, view, turn, named);
  const names = Object.keys(judged.graphs);
  const workflow = named !== undefined && judged.graphs[named] ? named : names[0];
  const graph = workflow === undefined ? undefined : judged.graphs[workflow];
  const saving = useSave(document, view, turn);
  const edits = useEdits(document, view, workflow);
  const schema = useSchema(document.format);
  save.current = saving.save;
  source.current = { format: document.format, schema, known: { nodes: graph?.nodes.map((node) => node.id) ?? [], tools: toolsOf(judged.graphs) } };
  useEffect(() => setNamed(workflow), [workflow]);

  // The cursor leads to the node whose lines it is in.
  useEffect(() => {
    if (!view) return;
    setSelected((before) => nodeAt(lies(view), line) ?? before);
  }, [view, line]);
  useEffect(() => {
    if (view) showLines(view, selected === undefined ? undefined : lies(view)[selected]);
  }, [view, selected, graph]);

  const onSelect = useCallback(
    (node: string | undefined) => {
      setSelected(node);
      const here = view && node !== undefined ? lies(view)[node] : undefined;
      if (view && here) selectLines(view, here);
    },
    [view],
  );
  const onGo = (flaw: Flaw) => {
    if (!view) return;
    if (flaw.workflow && judged.graphs[flaw.workflow]) setNamed(flaw.workflow);
    if (flaw.node) setSelected(flaw.node);
    goTo(view, spot(flaw, linesOf(view.state.doc)).from);
  };
  const flaws = judged.checked?.flaws ?? [];
  const editable = document.writable && isEditable(document.format);
  const here = view && selected !== undefined ? lies(view)[selected] : undefined;
  return (
    <section className="page wide editor">
      <Bar document={document} saving={saving} names={names} workflow={workflow} onWorkflow={setNamed} onUndo={() => view && undo(view)} onRedo={() => view && redo(view)} />
      {saving.wrong && <Trouble wrong={saving.wrong} />}
      {saving.theirs && view && (
        <Conflict theirs={saving.theirs} mine={view.state.sliceDoc()} onReload={() => (saving.settle(), onReload())} onOverwrite={saving.overwrite} onLater={saving.settle} />
      )}
      <div className="split editing">
        <div className="text-side">
          <div className="code" ref={editor.frame} data-testid="code" />
          <FlawList flaws={flaws} fresh={judged.fresh} onGo={onGo} />
        </div>
        <div className="graph-side">
          {judged.wrong && <Trouble wrong={judged.wrong} />}
          {edits.wrong && <Trouble wrong={edits.wrong} again={edits.settle} />}
          {editable && graph && <AddNode graph={graph} format={document.format} after={selected} onEdit={edits.edit} />}
          {graph ? (
            <GraphView
              graph={graph}
              name={`Graph of ${graph.name}`}
              selected={selected}
              onSelect={onSelect}
              flaws={byNode(flaws, workflow)}
              onConnect={editable ? (from, target) => void edits.edit([{ op: "connect", from, to: target }]) : undefined}
              onDelete={editable ? (id) => void edits.edit([{ op: "remove_node", id }]) : undefined}
            />
          ) : (
            <p className="quiet">{judged.checked ? "The graph is drawn once the text can be read." : "Checking…"}</p>
          )}
          {editable && graph && selected !== undefined && (
            <NodePanel graph={graph} node={selected} format={document.format} fields={view && here ? fieldsOf(view.state.doc.toString(), here, document.format) : undefined} schema={schema} onEdit={edits.edit} />
          )}
        </div>
      </div>
    </section>
  );
}

type BarProps = { document: DocumentText; saving: Saving; names: string[]; workflow?: string; onWorkflow: (name: string) => void; onUndo: () => void; onRedo: () => void };

function Bar({ document, saving, names, workflow, onWorkflow, onUndo, onRedo }: BarProps) {
  return (
    <header className="row editor-bar">
      <h1>{document.name}</h1>
      {names.length > 1 && (
        <select aria-label="Workflow that is drawn" value={workflow} onChange={(event) => onWorkflow(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {workflow && document.format !== "sop" && <Link href={to("tools", workflow)}>Run {workflow}</Link>}
      <span className="grow" />
      <span role="status" className="quiet">
        {!document.writable ? "read only" : saving.busy ? "Saving…" : saving.dirty ? "not saved" : saving.saved ? "saved" : ""}
      </span>
      {document.writable && (
        <>
          <button type="button" onClick={onUndo}>
            Undo
          </button>
          <button type="button" onClick={onRedo}>
            Redo
          </button>
          <button type="button" className="go" disabled={!saving.dirty || saving.busy} onClick={saving.save}>
            Save
          </button>
        </>
      )}
    </header>
  );
}

/** The schema of a format; those without one have no completion from it. */
function useSchema(format: string): Schema | undefined {
  const wanted = isEditable(format);
  const loaded = useLoad(() => (wanted ? api.schema(format) : Promise.resolve({} as Schema)), [format]);
  return wanted ? loaded.value : undefined;
}

/** The tools that the graphs of a document call. */
function toolsOf(graphs: { [name: string]: Graph }): { name: string; about?: string }[] {
  const names = new Set(Object.values(graphs).flatMap((graph) => graph.nodes.flatMap((node) => (node.tool ? [node.tool] : []))));
  return [...names].map((name) => ({ name }));
}
