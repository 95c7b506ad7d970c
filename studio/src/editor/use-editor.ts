// The text editor in the page: created once per document, with its events.
import type { EditorView } from "@codemirror/view";
import { useEffect, useRef, useState, type RefObject } from "react";
import type { DocumentText } from "../api/types";
import { makeEditor } from "./code-editor";
import { completion, type Source } from "./completion-source";
import { hoverDocs } from "./hover-docs";
import { nodePositions } from "./node-positions";
import { draftToRestore } from "./use-save";

export type Editor = {
  frame: RefObject<HTMLDivElement | null>;
  view: EditorView | undefined;
  /** Increases with every change of the text. */
  turn: number;
  /** The line of the cursor. */
  line: number;
};

export function useEditor(document: DocumentText, source: () => Source, onSave: () => void): Editor {
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<EditorView>();
  const [turn, setTurn] = useState(0);
  const [line, setLine] = useState(1);
  const latest = useRef({ source, onSave });
  latest.current = { source, onSave };
  useEffect(() => {
    if (!frame.current) return;
    const heard = { onText: () => setTurn((now) => now + 1), onLine: setLine, onSave: () => latest.current.onSave() };
    const more = [nodePositions, completion(() => latest.current.source()), hoverDocs(() => latest.current.source())];
    const { format, writable } = document;
    // Unsaved edits are continued.
    const text = draftToRestore(document)?.text ?? document.text;
    const made = makeEditor({ parent: frame.current, text, format, writable, heard, more });
    setView(made);
    setTurn((now) => now + 1);
    return () => made.destroy();
    // A document that was loaded again gets a new editor.
  }, [document]);
  return { frame, view, turn, line };
}
