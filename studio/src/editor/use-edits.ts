// Edits made in the graph: the server turns them into text patches, which are applied here.
import type { EditorView } from "@codemirror/view";
import { useCallback, useState } from "react";
import { api } from "../api/client";
import type { DocumentText, Edit } from "../api/types";
import { applyChanges } from "./code-editor";
import { toCodeUnits } from "./flaws";

/** Typing during a request makes its result stale; this is how often it is repeated. */
const TURNS_MAX = 3;

export type Edits = { wrong?: Error; edit: (edits: Edit[]) => Promise<boolean>; settle: () => void; /** Shows why an edit is not possible. */ say: (why: string) => void };

export function useEdits(document: DocumentText, view: EditorView | undefined, workflow: string | undefined): Edits {
  const [wrong, setWrong] = useState<Error>();
  const edit = useCallback(
    async (edits: Edit[]) => {
      if (!view || edits.length === 0) return false;
      try {
        for (let turn = 0; turn < TURNS_MAX; turn++) {
          const text = view.state.doc.toString();
          const { patches } = await api.edit({ text, format: document.format, workflow, edits });
          if (view.state.doc.toString() !== text) continue;
          applyChanges(view, toCodeUnits(text, patches));
          setWrong(undefined);
          return true;
        }
        throw new Error("the text changed meanwhile; try again");
      } catch (caught) {
        setWrong(caught as Error);
        return false;
      }
    },
    [view, document.format, workflow],
  );
  return { wrong, edit, settle: () => setWrong(undefined), say: (why) => setWrong(new Error(why)) };
}
