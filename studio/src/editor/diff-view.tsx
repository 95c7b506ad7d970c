// Two texts as a diff: a sign, a word and a colour for each line that differs.
import { useMemo } from "react";
import { hunks, lineDiff, type Row } from "./diff";

/** The maximum number of lines shown. */
const SHOWN_MAX = 500;
const SIGNS: { [kind in Row["kind"]]: string } = { same: " ", gone: "−", new: "+" };

export function DiffView({ left, right, name }: { left: string; right: string; name: string }) {
  const rows = useMemo(() => hunks(lineDiff(left, right)), [left, right]);
  return (
    <div className="difference" role="group" aria-label={name} tabIndex={0}>
      {rows.slice(0, SHOWN_MAX).map((row, at) =>
        row ? (
          <div key={at} className="diff-line" data-kind={row.kind}>
            <span className="at" aria-hidden="true">
              {row.left ?? ""}
            </span>
            <span className="at" aria-hidden="true">
              {row.right ?? ""}
            </span>
            <span aria-hidden="true">{SIGNS[row.kind]}</span>
            {row.kind !== "same" && <span className="unseen">{row.kind === "gone" ? "only there: " : "only here: "}</span>}
            <code>{row.text}</code>
          </div>
        ) : (
          <div key={at} className="diff-line quiet" aria-hidden="true">
            …
          </div>
        ),
      )}
      {rows.length > SHOWN_MAX && <p className="quiet">{rows.length - SHOWN_MAX} more lines differ.</p>}
    </div>
  );
}
