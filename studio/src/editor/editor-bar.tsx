// The bar above the editor: document and workflow, undo, save.
import type { DocumentText } from "../api/types";
import { Link, to } from "../router";
import { Icon } from "../ui/icon";
import { Select } from "../ui/select";
import type { Saving } from "./use-save";

type Props = { document: DocumentText; saving: Saving; names: string[]; workflow?: string; onWorkflow: (name: string) => void; onUndo: () => void; onRedo: () => void };

export function EditorBar({ document, saving, names, workflow, onWorkflow, onUndo, onRedo }: Props) {
  return (
    <header className="row editor-bar">
      <h1>{document.name}</h1>
      <span className="quiet only-wide" title={document.path}>
        {document.path}
      </span>
      {names.length > 1 && <Select label="Shown workflow" value={workflow ?? ""} options={names.map((name) => ({ value: name, label: name }))} onChange={onWorkflow} />}
      <span className="grow" />
      <span role="status" className="quiet">
        {saveStatus(document, saving)}
      </span>
      {document.writable && (
        <>
          <button type="button" className="btn" data-bare aria-label="Undo" title="Undo (Ctrl+Z)" onClick={onUndo}>
            <Icon name="undo" />
          </button>
          <button type="button" className="btn" data-bare aria-label="Redo" title="Redo (Ctrl+Y)" onClick={onRedo}>
            <Icon name="redo" />
          </button>
          <button type="button" className="go" disabled={!saving.dirty || saving.busy} title="Save (Ctrl+S)" onClick={saving.save}>
            <Icon name="save" /> Save
          </button>
        </>
      )}
      {workflow && document.format !== "sop" && (
        <Link className="btn" href={to("tools", workflow)}>
          <Icon name="play" /> Run {names.length > 1 ? workflow : ""}
        </Link>
      )}
    </header>
  );
}

function saveStatus(document: DocumentText, saving: Saving): string {
  if (!document.writable) return "read only";
  if (saving.busy) return "Saving…";
  if (saving.dirty) return "unsaved changes, kept in this browser";
  return saving.saved ? "saved" : "";
}
