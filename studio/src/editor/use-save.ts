// Saving: only over the text that was read. If the file has changed, the user chooses.
import type { EditorView } from "@codemirror/view";
import { useCallback, useEffect, useState } from "react";
import { api, ApiError } from "../api/client";
import type { DocumentText } from "../api/types";

export type Saving = {
  dirty: boolean;
  busy: boolean;
  saved: boolean;
  wrong?: Error;
  /** The current content of the file, if it differs from what was read. */
  theirs?: DocumentText;
  save: () => void;
  overwrite: () => void;
  settle: () => void;
};

export function useSave(document: DocumentText, view: EditorView | undefined, turn: number): Saving {
  const [kept, setKept] = useState({ text: document.text, hash: document.hash });
  const [state, setState] = useState<{ busy: boolean; saved: boolean; wrong?: Error; theirs?: DocumentText }>({ busy: false, saved: false });
  const text = view?.state.sliceDoc() ?? document.text;
  const dirty = view !== undefined && text !== kept.text;

  useEffect(() => setKept({ text: document.text, hash: document.hash }), [document]);
  useEffect(() => setState((before) => (before.saved ? { ...before, saved: false } : before)), [turn]);
  useEffect(() => {
    if (!dirty) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [dirty]);

  const write = useCallback(
    async (over: string) => {
      if (!view) return;
      const text = view.state.sliceDoc();
      setState({ busy: true, saved: false });
      try {
        const { hash } = await api.save(document.id, text, over);
        setKept({ text, hash });
        setState({ busy: false, saved: true });
      } catch (caught) {
        const stale = caught instanceof ApiError && caught.code === 409;
        const theirs = stale ? await api.document(document.id).catch(() => undefined) : undefined;
        setState({ busy: false, saved: false, wrong: theirs ? undefined : (caught as Error), theirs });
      }
    },
    [view, document.id],
  );
  return {
    ...state,
    dirty,
    save: () => void write(kept.hash),
    overwrite: () => void (state.theirs && write(state.theirs.hash)),
    settle: () => setState({ busy: false, saved: false }),
  };
}
