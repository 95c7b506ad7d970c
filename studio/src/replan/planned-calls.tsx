// The calls that a changed plan adds, with their arguments.
import type { PlannedCall } from "../api/types";
import { badges } from "../inbox/call-format";
import { count } from "../shell/format";
import { Tree } from "../value/tree";

export function PlannedCalls({ calls }: { calls: PlannedCall[] }) {
  if (calls.length === 0) return null;
  return (
    <details className="part" open>
      <summary>{count(calls.length, "new call")}</summary>
      {calls.map((call) => (
        <section key={call.node} className="call" aria-label={`The call of ${call.node}`}>
          <p className="row">
            <span>{call.node}</span>
            <code className="call-tool">{call.name}</code>
            <span className="quiet">on server {call.server}</span>
            {badges(call).map((badge) => (
              <span key={badge.word} className="tag" data-warns={badge.warns} title={badge.means}>
                {badge.word}
              </span>
            ))}
            {call.asks && <span className="tag">needs approval</span>}
          </p>
          <Tree value={call.arguments} label={`Arguments of ${call.node}`} />
          {call.computed && <p className="quiet">Expressions are evaluated when the call is made.</p>}
        </section>
      ))}
    </details>
  );
}
