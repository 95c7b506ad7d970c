// The list of all flaws of a text; each links to its line.
import { useState } from "react";
import type { Flaw } from "../api/types";
import { count } from "../shell/format";
import { Icon } from "../ui/icon";

export function FlawList({ flaws, fresh, onGo }: { flaws: Flaw[]; fresh: boolean; onGo: (flaw: Flaw) => void }) {
  const errors = flaws.filter((flaw) => flaw.severity === "error").length;
  const words = flaws.length === 0 ? "No problems." : `${count(errors, "error")}, ${count(flaws.length - errors, "warning")}.`;
  // One kind of problem can be hidden, not both.
  const [only, setOnly] = useState<Flaw["severity"]>();
  const both = errors > 0 && errors < flaws.length;
  const shown = only && both ? flaws.filter((flaw) => flaw.severity === only) : flaws;
  return (
    <section className="flaw-list" aria-label="Problems" data-fresh={fresh}>
      <div className="row flaw-bar">
        <p role="status">{fresh ? words : "Checking…"}</p>
        {both &&
          (["error", "warning"] as const).map((severity) => (
            <button key={severity} type="button" className="btn" data-small aria-pressed={only === severity} onClick={() => setOnly(only === severity ? undefined : severity)}>
              Only {severity}s
            </button>
          ))}
        {flaws.length > 0 && <span className="quiet only-wide">F8: next</span>}
      </div>
      <ul>
        {shown.map((flaw, at) => (
          <li key={at} data-severity={flaw.severity}>
            <button type="button" onClick={() => onGo(flaw)}>
              <span className="sign">
                <Icon name={flaw.severity === "error" ? "failed" : "warning"} size={14} />
              </span>
              {flaw.line > 0 && <span className="quiet">line {flaw.line}</span>} {flaw.node && <code>{flaw.node}</code>} {flaw.message}
              {flaw.suggestion && <span className="quiet"> ({flaw.suggestion})</span>} <code className="quiet">{flaw.code}</code>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
