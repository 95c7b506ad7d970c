// A small text editor for an expression or for JSON: highlighting, brackets, completion.
import { autocompletion, type CompletionContext } from "@codemirror/autocomplete";
import { json } from "@codemirror/lang-json";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { minimalSetup } from "codemirror";
import { bracketMatching } from "@codemirror/language";
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { useEffect, useRef } from "react";
import { editorTheme } from "../editor/editor-theme";
import { FUNCTIONS, jsonata } from "./jsonata-language";

type Props = {
  /** The accessible name. */
  label: string;
  language: "jsonata" | "json";
  value: string;
  onChange: (text: string) => void;
  /** Names that expressions see. */
  names?: string[];
};

export function ExpressionEditor({ label, language, value, onChange, names }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ onChange, names });
  latest.current = { onChange, names };
  useEffect(() => {
    if (!frame.current) return;
    const root = frame.current.shadowRoot ?? frame.current.attachShadow({ mode: "open" });
    const state = EditorState.create({
      doc: value,
      extensions: [
        minimalSetup,
        language === "jsonata" ? jsonata : json(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [(context) => suggestions(context, latest.current.names ?? [], language)], icons: false }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap]),
        EditorView.lineWrapping,
        editorTheme,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && latest.current.onChange(update.state.doc.toString())),
      ],
    });
    const made = new EditorView({ state, parent: root, root });
    view.current = made;
    return () => made.destroy();
    // Another language gets a new editor; the text is updated below.
  }, [language, label]);
  useEffect(() => {
    const now = view.current;
    if (now && now.state.doc.toString() !== value) now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: value } });
  }, [value]);
  return <div className="code-field" ref={frame} />;
}

function suggestions(context: CompletionContext, names: string[], language: Props["language"]) {
  const word = context.matchBefore(language === "jsonata" ? /[$\w]+/ : /"?[\w.]*/);
  if (!context.explicit && (!word || word.from === word.to)) return null;
  const own = names.map((name) => ({ label: name, detail: "node", type: "variable" }));
  const known = language === "jsonata" ? FUNCTIONS.map((name) => ({ label: name, detail: "function", type: "function", apply: `${name}(` })) : [];
  return { from: word?.from ?? context.pos, options: [...own, ...known] };
}
