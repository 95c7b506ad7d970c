// The bar above the editor: document and workflow, undo, save.
import type { DocumentText } from "../api/types";
import { Link, to } from "../router";
import type { Saving } from "./use-save";

type Props = { document: DocumentText; saving: Saving; names: string[]; workflow?: string; onWorkflow: (name: string) => void; onUndo: () => void; onRedo: () => void };

export function EditorBar({ document, saving, names, workflow, onWorkflow, onUndo, onRedo }: Props) {
  return (
    <header className="row editor-bar">
      <h1>{document.name}</h1>
      {names.length > 1 && (
        <select aria-label="Shown workflow" value={workflow} onChange={(event) => onWorkflow(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {workflow && document.format !== "sop" && <Link href={to("tools", workflow)}>Run {workflow}</Link>}
      <span className="grow" />
      <span role="status" className="quiet">
        {saveStatus(document, saving)}
      </span>
      {document.writable && (
        <>
          <button type="button" onClick={onUndo}>
            Undo
          </button>
          <button type="button" onClick={onRedo}>
            Redo
          </button>
          <button type="button" className="go" disabled={!saving.dirty || saving.busy} onClick={saving.save}>
            Save
          </button>
        </>
      )}
    </header>
  );
}

function saveStatus(document: DocumentText, saving: Saving): string {
  if (!document.writable) return "read only";
  if (saving.busy) return "Saving…";
  if (saving.dirty) return "unsaved changes";
  return saving.saved ? "saved" : "";
}
