// Why an edge was taken: each rule as a tree with the value of every operand.
import type { Json, BranchExplanation, EvaluationTree } from "../api/types";

const WORDS_MAX = 160;

function brief(value: Json | undefined): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > WORDS_MAX ? text.slice(0, WORDS_MAX) + "…" : text;
}

function OperandTree({ tree, depth }: { tree: EvaluationTree; depth: number }) {
  const children = tree.children ?? [];
  const words = tree.text ?? tree.op ?? "value";
  return (
    <li>
      <span className="why-words">{words}</span> <span aria-hidden="true">→</span>
      <span className="unseen"> is </span> <code className="why-value" data-value={typeof tree.value}>{tree.undefined ? "nothing" : brief(tree.value)}</code>
      {children.length > 0 && (
        <ul>
          {children.map((child, index) => (
            <OperandTree key={index} tree={child} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** An expression with the value of each of its parts. */
export function Operands({ tree, name }: { tree: EvaluationTree; name: string }) {
  return (
    <ul className="why-tree" aria-label={name}>
      <OperandTree tree={tree} depth={0} />
    </ul>
  );
}

export function BranchExplanationView({ why }: { why: BranchExplanation }) {
  return (
    <div className="why">
      <p>
        It took <strong>{why.picked}</strong>: {reason(why)}
      </p>
      {why.rules.map((rule) => (
        <details key={rule.index} open={rule.held || why.rules.length === 1}>
          <summary>
            {rule.held ? "✓ true" : "✕ false"} · rule {rule.index + 1} ({rule.language}){rule.label && ` → ${rule.label}`}
          </summary>
          <pre>{typeof rule.rule === "string" ? rule.rule : JSON.stringify(rule.rule)}</pre>
          <Operands tree={rule.tree} name={`Rule ${rule.index + 1} with its values`} />
        </details>
      ))}
    </div>
  );
}

function reason(why: BranchExplanation): string {
  const held = why.rules.find((rule) => rule.held);
  if (!held) return "no rule was true, so the default edge was taken.";
  return held.index === 0 ? "the first rule is true." : `rule ${held.index + 1} is the first that is true.`;
}
