// Saving: only over the text that was read. If the file has changed, the two versions are merged. Unsaved text is kept as
// a draft until it is saved or discarded.
import type { EditorView } from "@codemirror/view";
import { useCallback, useEffect, useRef, useState } from "react";
import { api, ApiError } from "../api/client";
import type { DocumentText } from "../api/types";
import { useInterval } from "../shell/use-interval";
import { dropDraft, keepDraft, readDraft, type Draft } from "./drafts";

export type Saving = {
  dirty: boolean;
  busy: boolean;
  saved: boolean;
  wrong?: Error;
  /** The text that the edits are based on. */
  base: string;
  /** The current content of the file, if it differs from what was read and is being merged. */
  theirs?: DocumentText;
  /** Whether the file is known to have changed since it was read. */
  changed: boolean;
  /** The draft that was restored when the document was opened. */
  restored?: Draft;
  save: () => void;
  /** Saves a merged text over the file as `theirs` has it. */
  saveMerged: (text: string) => void;
  /** Shows the merge before anything is saved. */
  merge: () => void;
  discard: () => void;
  settle: () => void;
};

/** A draft is kept this long after the last change. */
const KEEP_MS = 250;
/** How often the file is compared with what was read. */
const LOOK_MS = 4_000;

/** The draft to restore: one whose text differs from the file. */
export function draftToRestore(document: DocumentText): Draft | undefined {
  const draft = document.writable ? readDraft(document.id) : undefined;
  return draft && draft.text !== document.text ? draft : undefined;
}

type State = { busy: boolean; saved: boolean; wrong?: Error; theirs?: DocumentText };

export function useSave(document: DocumentText, view: EditorView | undefined, turn: number): Saving {
  const [restored, setRestored] = useState(() => draftToRestore(document));
  const [kept, setKept] = useState(() => (restored ? { text: restored.base, hash: restored.hash } : { text: document.text, hash: document.hash }));
  const [state, setState] = useState<State>({ busy: false, saved: false });
  const [onDisk, setOnDisk] = useState(document.hash);
  const text = view?.state.sliceDoc() ?? restored?.text ?? document.text;
  const dirty = view !== undefined && text !== kept.text;
  const lasting = useRef(true);
  const discarded = useRef(false);

  useEffect(() => setState((before) => (before.saved ? { ...before, saved: false } : before)), [turn]);

  // The draft is kept shortly after each change, and at once when the page is left.
  const keep = useRef(() => {});
  keep.current = () => {
    if (!view || discarded.current) return;
    const now = view.state.sliceDoc();
    if (now === kept.text) dropDraft(document.id);
    else lasting.current = keepDraft({ id: document.id, name: document.name, text: now, base: kept.text, hash: kept.hash, at_ms: Date.now() });
  };
  useEffect(() => {
    const timer = setTimeout(() => keep.current(), KEEP_MS);
    return () => clearTimeout(timer);
  }, [turn, kept]);
  useEffect(() => {
    const leave = (event: BeforeUnloadEvent) => {
      keep.current();
      // Only a text that could not be kept needs a question.
      if (!lasting.current) event.preventDefault();
    };
    const hide = () => keep.current();
    addEventListener("beforeunload", leave);
    addEventListener("pagehide", hide);
    return () => {
      removeEventListener("beforeunload", leave);
      removeEventListener("pagehide", hide);
      // Another page of the studio was opened.
      keep.current();
    };
  }, [view]);

  useInterval(LOOK_MS, document.writable ? () => void api.documents().then(({ documents }) => setOnDisk(documents.find((one) => one.id === document.id)?.hash ?? document.hash), () => {}) : undefined);

  const write = useCallback(
    async (text: string, over: string) => {
      setState({ busy: true, saved: false });
      try {
        const { hash } = await api.save(document.id, text, over);
        setKept({ text, hash });
        setOnDisk(hash);
        setRestored(undefined);
        if (view && view.state.sliceDoc() !== text) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
        dropDraft(document.id);
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
    base: kept.text,
    restored: dirty ? restored : undefined,
    changed: onDisk !== kept.hash,
    save: () => void (view && write(view.state.sliceDoc(), kept.hash)),
    saveMerged: (text) => void (state.theirs && write(text, state.theirs.hash)),
    merge: () => void api.document(document.id).then((theirs) => setState({ busy: false, saved: false, theirs }), (wrong: Error) => setState({ busy: false, saved: false, wrong })),
    discard: () => {
      lasting.current = true;
      discarded.current = true;
      dropDraft(document.id);
    },
    settle: () => setState({ busy: false, saved: false }),
  };
}
