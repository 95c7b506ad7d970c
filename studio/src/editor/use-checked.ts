// Checks the text on the server whenever typing pauses.
import type { EditorView } from "@codemirror/view";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { CheckResult, DocumentText, Graph } from "../api/types";
import { showFlaws } from "./code-editor";
import { storePositions } from "./node-positions";

/** The text is checked after this long without typing. */
const TYPING_MS = 250;

export type CheckState = {
  checked?: CheckResult;
  /** The graphs of the last text without errors, by name. */
  graphs: { [name: string]: Graph };
  wrong?: Error;
  /** Whether the result belongs to the current text. */
  fresh: boolean;
};

export function useChecked(document: DocumentText, view: EditorView | undefined, turn: number, workflow: string | undefined): CheckState {
  const [judged, setJudged] = useState<CheckState>({ graphs: {}, fresh: false });
  useEffect(() => {
    if (!view) return;
    const stop = new AbortController();
    setJudged((before) => ({ ...before, fresh: false }));
    const ask = async () => {
      const text = view.state.doc.toString();
      const checked = await api.check({ text, format: document.format, name: document.name }, stop.signal);
      if (stop.signal.aborted) return;
      showFlaws(view, checked.flaws);
      const graphs = graphsOf(checked);
      setJudged((before) => ({ checked, graphs: Object.keys(graphs).length ? graphs : before.graphs, fresh: true }));
    };
    const timer = setTimeout(() => ask().catch((wrong: Error) => !stop.signal.aborted && setJudged((before) => ({ ...before, wrong, fresh: true }))), TYPING_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [document, view, turn]);
  const shown = workflow === undefined ? undefined : judged.graphs[workflow];
  useEffect(() => {
    // A graph is new only if a check drew it from the current text; an old one keeps its positions.
    if (view && shown) storePositions(view, shown);
  }, [view, shown]);
  return judged;
}

function graphsOf(checked: CheckResult): { [name: string]: Graph } {
  const named = checked.workflows.map(({ name, graph }) => [name, graph] as const);
  return Object.fromEntries(checked.procedure ? [...named, [checked.procedure.name, checked.procedure] as const] : named);
}
