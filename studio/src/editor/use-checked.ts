// What the server says of the text, asked for whenever typing pauses.
import type { EditorView } from "@codemirror/view";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Checked, DocumentText, Graph } from "../api/types";
import { showFlaws } from "./code";
import { keepPlaces } from "./places";

/** After so long without a further letter the text is checked. */
const TYPING_MS = 250;

export type Judged = {
  checked?: Checked;
  /** The graphs of the last text that had no errors, by name. */
  graphs: { [name: string]: Graph };
  wrong?: Error;
  /** Whether what is shown is of the text as it is now. */
  fresh: boolean;
};

export function useChecked(document: DocumentText, view: EditorView | undefined, turn: number, workflow: string | undefined): Judged {
  const [judged, setJudged] = useState<Judged>({ graphs: {}, fresh: false });
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
    // A graph is new only where a check drew it from the text as it is; an old one keeps its places.
    if (view && shown) keepPlaces(view, shown);
  }, [view, shown]);
  return judged;
}

function graphsOf(checked: Checked): { [name: string]: Graph } {
  const named = checked.workflows.map(({ name, graph }) => [name, graph] as const);
  return Object.fromEntries(checked.procedure ? [...named, [checked.procedure.name, checked.procedure] as const] : named);
}
