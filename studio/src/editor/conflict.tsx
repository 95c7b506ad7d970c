// The file changed while it was edited here: look at the difference, then choose.
import type { DocumentText } from "../api/types";
import { Difference } from "./difference";

type Props = { theirs: DocumentText; mine: string; onReload: () => void; onOverwrite: () => void; onLater: () => void };

export function Conflict({ theirs, mine, onReload, onOverwrite, onLater }: Props) {
  return (
    <section className="conflict" role="alertdialog" aria-label="The file has changed">
      <h2>The file has changed since it was opened</h2>
      <p>Lines with − stand only in the file, lines with + only here.</p>
      <Difference left={theirs.text} right={mine} name="Difference between the file and the text here" />
      <div className="row">
        <button type="button" onClick={onReload}>
          Take the file’s text
        </button>
        <button type="button" className="stop" onClick={onOverwrite}>
          Overwrite the file
        </button>
        <button type="button" onClick={onLater}>
          Not now
        </button>
      </div>
    </section>
  );
}
