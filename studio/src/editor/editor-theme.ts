// The editor's theme: uses the colours of the page, which support dark and light.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.heading], color: "var(--link)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string), tags.monospace], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--busy)" },
  { tag: [tags.comment, tags.meta], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: "var(--hold)" },
]);

const frame = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--panel)", fontSize: "13px" },
  "&.cm-focused": { outline: "3px solid var(--focus)", outlineOffset: "-3px" },
  ".cm-scroller": { fontFamily: "ui-monospace, Menlo, Consolas, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--soft)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--soft) 60%, transparent)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--focus) 28%, transparent) !important" },
  ".cm-node-lines": { boxShadow: "inset 3px 0 var(--accent)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.9" },
  ".cm-hover-doc": { maxWidth: "28rem", padding: "6px 10px", fontSize: "12.5px" },
  ".cm-hover-doc p": { margin: "0 0 2px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--soft)", color: "var(--quiet)", border: "1px solid var(--line)" },
  ".cm-button, .cm-textfield": { backgroundImage: "none", backgroundColor: "var(--soft)", color: "var(--ink)", border: "1px solid var(--line)" },
});

export const editorTheme = [frame, syntaxHighlighting(colours)];
