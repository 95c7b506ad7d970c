// The calls that a changed plan adds: what they call and with what.
import type { PlannedCall } from "../api/types";
import { badges } from "../inbox/call";
import { count } from "../shell/words";
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
            {call.asks && <span className="tag">asks before it is made</span>}
          </p>
          <Tree value={call.arguments} label={`Arguments of ${call.node}`} />
          {call.computed && <p className="quiet">Expressions are computed when the call is due.</p>}
        </section>
      ))}
    </details>
  );
}
