// The file changed while it was edited here: both versions are merged, and where they disagree the user decides.
import { useMemo, useState } from "react";
import type { DocumentText } from "../api/types";
import { count } from "../shell/format";
import { DiffView } from "./diff-view";
import { conflictCount, merge3, merged, type Choice, type Part } from "./merge";

type Props = {
  /** The text that the edits are based on. */
  base: string;
  theirs: DocumentText;
  mine: string;
  onReload: () => void;
  /** Saves the merged text over the file as it is now. */
  onMerged: (text: string) => void;
  onLater: () => void;
};

/** Unchanged lines shown around a change. */
const CONTEXT = 2;

export function Conflict({ base, theirs, mine, onReload, onMerged, onLater }: Props) {
  const parts = useMemo(() => merge3(base, mine, theirs.text), [base, mine, theirs.text]);
  const [choices, setChoices] = useState<{ [part: number]: Choice }>({});
  const [sure, setSure] = useState(false);
  const open = parts.filter((part, at) => part.kind === "conflict" && !choices[at]).length;
  const text = merged(parts, choices);
  const all = conflictCount(parts);
  return (
    <section className="conflict" role="alertdialog" aria-label="The file has changed">
      <h2>The file has changed on disk since you opened it</h2>
      <p>
        {all === 0
          ? "Your changes and those in the file do not overlap: both are kept below."
          : `${count(all, "place")} ${all === 1 ? "was" : "were"} changed on both sides. Choose what to keep; everything else is merged.`}
      </p>
      <div className="difference merge" role="group" aria-label="Merge of the file and your text" tabIndex={0}>
        {parts.map((part, at) => (
          <PartView key={at} part={part} choice={choices[at]} name={`conflict-${at}`} onChoose={(choice) => setChoices({ ...choices, [at]: choice })} />
        ))}
      </div>
      <div className="row">
        <button type="button" className="go" disabled={text === undefined} onClick={() => text !== undefined && onMerged(text)}>
          {open > 0 ? `Save the merged text (${open} left to decide)` : "Save the merged text"}
        </button>
        <button type="button" onClick={onLater}>
          Continue editing
        </button>
        <span className="grow" />
        {sure ? (
          <button type="button" className="stop" onClick={onReload}>
            Yes, discard my edits
          </button>
        ) : (
          <button type="button" onClick={() => setSure(true)}>
            Use the file’s text…
          </button>
        )}
      </div>
      {sure && (
        <>
          <p className="quiet">These edits of yours would be lost:</p>
          <DiffView left={theirs.text} right={mine} name="Difference between the file and your text" />
        </>
      )}
    </section>
  );
}

const SOURCES = { mine: "yours", theirs: "from the file", both: "on both sides" };

function PartView({ part, choice, name, onChoose }: { part: Part; choice?: Choice; name: string; onChoose: (choice: Choice) => void }) {
  if (part.kind === "same") {
    const short = part.lines.length > 2 * CONTEXT + 1;
    const shown = short ? [...part.lines.slice(0, CONTEXT), undefined, ...part.lines.slice(-CONTEXT)] : part.lines;
    return shown.map((line, at) => (
      <div key={at} className="diff-line" data-kind={line === undefined ? "place" : "same"}>
        {line === undefined ? `… ${part.lines.length - 2 * CONTEXT} unchanged lines` : <code>{line || " "}</code>}
      </div>
    ));
  }
  if (part.kind === "taken") {
    return (
      <div className="merge-part" data-from={part.from}>
        <span className="merge-source">{SOURCES[part.from]}</span>
        <Lines kind="gone" lines={part.base} />
        <Lines kind="new" lines={part.lines} />
      </div>
    );
  }
  const options: { choice: Choice; words: string }[] = [
    { choice: "mine", words: "Keep yours" },
    { choice: "theirs", words: "Keep the file’s" },
    { choice: "both", words: "Keep both" },
  ];
  return (
    <fieldset className="merge-part" data-from="conflict">
      <legend className="merge-source">changed on both sides</legend>
      <div className="merge-sides">
        <Side title="Before" lines={part.base} />
        <Side title="Yours" lines={part.mine} />
        <Side title="In the file" lines={part.theirs} />
      </div>
      <div className="row">
        {options.map((option) => (
          <label key={option.choice} className="line">
            <input type="radio" name={name} checked={choice === option.choice} onChange={() => onChoose(option.choice)} /> {option.words}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Side({ title, lines }: { title: string; lines: string[] }) {
  return (
    <div>
      <strong>{title}</strong>
      {lines.length === 0 ? <p className="quiet">nothing</p> : lines.map((line, at) => <pre key={at}>{line || " "}</pre>)}
    </div>
  );
}

function Lines({ kind, lines }: { kind: "gone" | "new"; lines: string[] }) {
  return lines.map((line, at) => (
    <div key={at} className="diff-line" data-kind={kind}>
      <span aria-hidden="true">{kind === "gone" ? "−" : "+"}</span>
      <span className="unseen">{kind === "gone" ? "removed: " : "added: "}</span>
      <code>{line || " "}</code>
    </div>
  ));
}
