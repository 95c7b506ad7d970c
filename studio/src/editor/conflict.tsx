// Resolves a conflict: the file changed while it was edited here.
import type { DocumentText } from "../api/types";
import { DiffView } from "./diff-view";

type Props = { theirs: DocumentText; mine: string; onReload: () => void; onOverwrite: () => void; onLater: () => void };

export function Conflict({ theirs, mine, onReload, onOverwrite, onLater }: Props) {
  return (
    <section className="conflict" role="alertdialog" aria-label="The file has changed">
      <h2>The file has changed since it was opened</h2>
      <p>Lines with − are only in the file, lines with + only here.</p>
      <DiffView left={theirs.text} right={mine} name="Difference between the file and the text here" />
      <div className="row">
        <button type="button" onClick={onReload}>
          Use the file’s text
        </button>
        <button type="button" className="stop" onClick={onOverwrite}>
          Overwrite the file
        </button>
        <button type="button" onClick={onLater}>
          Cancel
        </button>
      </div>
    </section>
  );
}
