// The text editor: CodeMirror with our languages, markers for flaws and for the selected node's lines.
import { isolateHistory } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { markdown } from "@codemirror/lang-markdown";
import { yaml } from "@codemirror/lang-yaml";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, StateField, Transaction, type Extension, type Text } from "@codemirror/state";
import { Decoration, EditorView, keymap, type DecorationSet } from "@codemirror/view";
import { basicSetup } from "codemirror";
import type { Flaw } from "../api/types";
import type { Extent } from "./node-extent";
import { flawRange, type Lines } from "./flaws";
import { editorTheme } from "./editor-theme";

export type EditorEvents = { onText: () => void; onLine: (line: number) => void; onSave: () => void };
type EditorOptions = { parent: HTMLElement; text: string; format: string; writable: boolean; heard: EditorEvents; more: Extension };

const setLines = StateEffect.define<Extent | undefined>();
const nodeLine = Decoration.line({ class: "cm-node-lines" });

/** The lines of the selected node. */
const nodeLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, change) {
    let next = now.map(change.changes);
    for (const effect of change.effects) if (effect.is(setLines)) next = lineDecorations(change.state.doc, effect.value);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function lineDecorations(doc: Text, lies: Extent | undefined): DecorationSet {
  if (!lies) return Decoration.none;
  const to = Math.min(lies.to, doc.lines);
  const lines = Array.from({ length: Math.max(0, to - lies.from + 1) }, (_, at) => nodeLine.range(doc.line(lies.from + at).from));
  return Decoration.set(lines);
}

function language(format: string): Extension {
  if (format === "dag" || format === "ir") return json();
  return format === "yaml" ? yaml() : markdown();
}

/** Creates an editor in its own shadow root, so that its styles need no exception from the content security policy. */
export function makeEditor({ parent, text, format, writable, heard, more }: EditorOptions): EditorView {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const save = Prec.highest(keymap.of([{ key: "Mod-s", preventDefault: true, run: () => (heard.onSave(), true) }]));
  const listener = EditorView.updateListener.of((update) => {
    if (update.docChanged) heard.onText();
    if (update.docChanged || update.selectionSet) heard.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
  });
  const state = EditorState.create({
    doc: text,
    extensions: [
      save,
      basicSetup,
      language(format),
      lintGutter(),
      nodeLines,
      editorTheme,
      more,
      listener,
      EditorView.lineWrapping,
      EditorState.tabSize.of(2),
      EditorState.readOnly.of(!writable),
      EditorView.contentAttributes.of({ "aria-label": "Text of the document", spellcheck: "false", tabindex: "0" }),
      // Keep the line endings of the file.
      text.includes("\r\n") ? EditorState.lineSeparator.of("\r\n") : [],
    ],
  });
  return new EditorView({ state, parent: root, root });
}

export function linesOf(doc: Text): Lines {
  return { length: doc.length, lines: doc.lines, line: (number) => doc.line(number) };
}

/** Marks flaws in the text and in the gutter. */
export function showFlaws(view: EditorView, flaws: Flaw[]): void {
  const lines = linesOf(view.state.doc);
  const diagnostics = flaws.map((flaw): Diagnostic => {
    const { from, to } = flawRange(flaw, lines);
    return { from, to, severity: flaw.severity, source: flaw.code, message: flaw.suggestion ? `${flaw.message} (${flaw.suggestion})` : flaw.message };
  });
  view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
}

export function showLines(view: EditorView, lies: Extent | undefined): void {
  view.dispatch({ effects: setLines.of(lies) });
}

/** Selects lines and scrolls them into view; the focus does not move. */
export function selectLines(view: EditorView, lies: Extent): void {
  const { doc } = view.state;
  const from = doc.line(Math.min(lies.from, doc.lines)).from;
  const to = doc.line(Math.min(lies.to, doc.lines)).to;
  view.dispatch({ selection: { anchor: to, head: from }, effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 40 }) });
}

/** Puts the cursor at a position and focuses the text. */
export function moveCursor(view: EditorView, place: number): void {
  view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
  view.focus();
}

/** Changes that were not typed: one undo reverts all of them. */
export function applyChanges(view: EditorView, changes: { from: number; to: number; insert: string }[]): void {
  view.dispatch({ changes, annotations: [isolateHistory.of("full"), Transaction.userEvent.of("input.graph")] });
}
