// The editor page of a document: text and graph side by side, kept in sync.
import { redo, undo } from "@codemirror/commands";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { DocumentText, Flaw, Graph, Schema } from "../api/types";
import { noteWords } from "../graph/badges";
import { kindLook } from "../graph/node-kinds";
import { useRouter } from "../router";
import { ErrorMessage, useLoad } from "../shell/load";
import { Empty, Skeleton } from "../ui/empty";
import { Split } from "../ui/split";
import { EditorBar } from "./editor-bar";
import { moveCursor, linesOf, selectLines, showLines } from "./code-editor";
import type { Source } from "./completion-source";
import { Conflict } from "./conflict";
import { nodeAt } from "./node-extent";
import { FlawList } from "./flaw-list";
import { flawRange } from "./flaws";
import { GraphPane } from "./graph-pane";
import { nodeExtents } from "./node-positions";
import { useChecked } from "./use-checked";
import { useEditor, type Editor } from "./use-editor";
import { useSave, type Saving } from "./use-save";
import { Ago } from "../ui/time";

export function EditorPage({ document, onReload }: { document: DocumentText; onReload: () => void }) {
  const source = useRef<Source>({ format: document.format, known: { nodes: [], tools: [], workflows: [] } });
  const save = useRef(() => {});
  const editor = useEditor(document, () => source.current, () => save.current());
  const { view, turn } = editor;
  const given = new URLSearchParams(useRouter().search);
  const [named, setNamed] = useState<string | undefined>(given.get("workflow") ?? undefined);
  const judged = useChecked(document, view, turn, named);
  const names = Object.keys(judged.graphs);
  const workflow = named !== undefined && judged.graphs[named] ? named : names[0];
  const graph = workflow === undefined ? undefined : judged.graphs[workflow];
  const { selected, setSelected, onSelect } = useSelectedNode(editor, graph, document.format);
  const saving = useSave(document, view, turn);
  const schema = useSchema(document.format);
  save.current = saving.save;
  // The lines of nodes are known once the shown workflow has been named.
  useLinkedNode(given.get("node"), named === workflow ? graph : undefined, onSelect);
  const nodes = graph?.nodes.map((node) => node.id) ?? [];
  source.current = { format: document.format, schema, known: { nodes, tools: toolsOf(judged.graphs), workflows: useWorkflows() }, about: (node) => aboutNode(graph, node) };
  useEffect(() => setNamed(workflow), [workflow]);

  const onGo = (flaw: Flaw) => {
    if (!view) return;
    if (flaw.workflow && judged.graphs[flaw.workflow]) setNamed(flaw.workflow);
    if (flaw.node) setSelected(flaw.node);
    moveCursor(view, flawRange(flaw, linesOf(view.state.doc)).from);
  };
  const flaws = judged.checked?.flaws ?? [];
  return (
    <section className="page wide editor">
      <EditorBar document={document} saving={saving} names={names} workflow={workflow} onWorkflow={setNamed} onUndo={() => view && undo(view)} onRedo={() => view && redo(view)} />
      {saving.wrong && <ErrorMessage wrong={saving.wrong} />}
      {saving.theirs && view && (
        <Conflict
          base={saving.base}
          theirs={saving.theirs}
          mine={view.state.sliceDoc()}
          onReload={() => {
            saving.discard();
            saving.settle();
            onReload();
          }}
          onMerged={saving.saveMerged}
          onLater={saving.settle}
        />
      )}
      {!saving.theirs && <EditNotice saving={saving} onReload={onReload} />}
      <div className="editing card">
        <Split
          name="editor"
          side="right"
          label="Width of the graph"
          size={Math.round(innerWidth * 0.46)}
          min={320}
          max={Math.max(480, innerWidth - 520)}
          first={
            <div className="text-side">
              <div className="code" ref={editor.frame} data-testid="code" />
              <FlawList flaws={flaws} fresh={judged.fresh} onGo={onGo} />
            </div>
          }
          second={
            <div className="graph-side">
              {judged.wrong && <ErrorMessage wrong={judged.wrong} />}
              {graph ? (
                <GraphPane document={document} view={view} graph={graph} flaws={flaws} schema={schema} selected={selected} onSelect={onSelect} />
              ) : judged.checked ? (
                <Empty icon="workflow" title="The graph appears once the text is valid." />
              ) : (
                <Skeleton rows={5} />
              )}
            </div>
          }
        />
      </div>
    </section>
  );
}

/** What happened to the text outside of this page: restored edits, and a file that changed on disk. */
function EditNotice({ saving, onReload }: { saving: Saving; onReload: () => void }) {
  const discard = () => {
    saving.discard();
    onReload();
  };
  if (saving.changed) {
    return (
      <div className="notice" role="status">
        <p>The file has changed on disk since you opened it.{saving.dirty && " Your edits are kept."}</p>
        {saving.dirty ? (
          <button type="button" onClick={saving.merge}>
            Merge…
          </button>
        ) : (
          <button type="button" onClick={onReload}>
            Show the file
          </button>
        )}
      </div>
    );
  }
  if (!saving.restored) return null;
  return (
    <div className="notice" role="status">
      <p>
        Your unsaved edits (<Ago ms={saving.restored.at_ms} />) were restored.
      </p>
      <button type="button" onClick={discard}>
        Discard them
      </button>
    </div>
  );
}

/** The selected node: selecting it in the graph selects its lines, and the cursor selects the node at its line. */
function useSelectedNode({ view, line }: Editor, graph: Graph | undefined, format: string) {
  const [selected, setSelected] = useState<string>();
  useEffect(() => {
    if (!view) return;
    const all = nodeExtents(view, format);
    // If several nodes are on one line, the selected one stays selected.
    const holds = (node: string) => all[node] !== undefined && all[node].from <= line && line <= all[node].to;
    setSelected((before) => (before !== undefined && holds(before) ? before : (nodeAt(all, line) ?? before)));
  }, [view, line]);
  useEffect(() => {
    if (view) showLines(view, selected === undefined ? undefined : nodeExtents(view, format)[selected]);
  }, [view, selected, graph]);
  const onSelect = useCallback(
    (node: string | undefined) => {
      setSelected(node);
      const here = view && node !== undefined ? nodeExtents(view, format)[node] : undefined;
      if (view && here) selectLines(view, here);
    },
    [view],
  );
  return { selected, setSelected, onSelect };
}

/** Selects the node that the address names, once its graph is known. */
function useLinkedNode(node: string | null, graph: Graph | undefined, onSelect: (node: string) => void): void {
  const done = useRef(false);
  const there = node !== null && (graph?.nodes.some((one) => one.id === node) ?? false);
  useEffect(() => {
    if (!there || done.current || node === null) return;
    done.current = true;
    onSelect(node);
  }, [there]);
}

/** The JSON Schema of a format; formats without one have no completion from it. */
function useSchema(format: string): Schema | undefined {
  // A Markdown step has the form of an IR node.
  const named = format === "markdown" ? "ir" : format;
  const wanted = ["yaml", "dag", "ir"].includes(named);
  const loaded = useLoad(() => (wanted ? api.schema(named) : Promise.resolve({} as Schema)), [named]);
  return wanted ? loaded.value : undefined;
}

/** The workflows that can be called by name. */
function useWorkflows(): { name: string; about?: string }[] {
  const loaded = useLoad(() => api.tools(), []);
  return (loaded.value?.tools ?? []).map(({ name, description }) => ({ name, about: description }));
}

/** What a node does: its kind, its tool or expression, and what is special about it. */
function aboutNode(graph: Graph | undefined, id: string): string | undefined {
  const node = graph?.nodes.find((one) => one.id === id);
  if (!node) return undefined;
  return [kindLook(node.kind).word, node.tool ?? node.detail, ...node.notes.map(noteWords)].filter(Boolean).join(" · ");
}

/** The tools that the graphs of a document call. */
function toolsOf(graphs: { [name: string]: Graph }): { name: string; about?: string }[] {
  const names = new Set(Object.values(graphs).flatMap((graph) => graph.nodes.flatMap((node) => (node.tool ? [node.tool] : []))));
  return [...names].map((name) => ({ name }));
}
