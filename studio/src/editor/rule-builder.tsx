// The rules of a switch as rows of a form, with the same in words and as JSON Logic.
import { useState } from "react";
import type { Json } from "../api/types";
import { Icon } from "../ui/icon";
import { formatFreeValue, parseFreeValue } from "./free-field";
import { OPERATORS, ruleForm, ruleOf, ruleWords, shownValue, typedValue, type Comparison, type RuleForm } from "./rules";

type Condition = { [key: string]: Json };
type Props = { value: Json | undefined; /** Nodes that a rule can lead to. */ targets: string[]; /** Names that rules can read. */ names: string[]; onChange: (value: Json) => void };

const NEW_RULE: Json = { "==": [{ var: "" }, ""] };

export function RuleBuilder({ value, targets, names, onChange }: Props) {
  const all = Array.isArray(value) ? value.filter((one): one is Condition => typeof one === "object" && one !== null && !Array.isArray(one)) : [];
  const change = (at: number, next: Condition) => onChange(all.map((one, index) => (index === at ? next : one)));
  return (
    <fieldset className="group rules">
      <legend>Rules, the first that holds decides</legend>
      {all.map((one, at) => (
        <ConditionRow key={at} at={at} condition={one} targets={targets} names={names} onChange={(next) => change(at, next)} onRemove={() => onChange(all.filter((_, index) => index !== at))} />
      ))}
      <button type="button" onClick={() => onChange([...all, { rule: NEW_RULE, next: targets[0] ?? "" }])}>
        <Icon name="plus" /> Add a rule
      </button>
    </fieldset>
  );
}

type RowProps = { at: number; condition: Condition; targets: string[]; names: string[]; onChange: (next: Condition) => void; onRemove: () => void };

function ConditionRow({ at, condition, targets, names, onChange, onRemove }: RowProps) {
  const rule = condition["rule"];
  const form = rule === undefined ? undefined : ruleForm(rule);
  const leads = "target" in condition ? "target" : "next";
  const to = String(condition[leads] ?? "");
  const set = (next: Json) => onChange({ ...condition, rule: next });
  return (
    <div className="rule" role="group" aria-label={`Rule ${at + 1}`}>
      <p className="rule-words">
        {rule === undefined ? "Otherwise" : <>If <strong>{ruleWords(rule)}</strong></>}, go to <strong>{to || "…"}</strong>
      </p>
      {form ? <RuleRows form={form} names={names} onChange={(next) => set(ruleOf(next))} /> : rule !== undefined && <RuleText rule={rule} onChange={set} />}
      <div className="row">
        <label>
          go to{" "}
          <select value={to} onChange={(event) => onChange({ ...condition, [leads]: event.target.value })}>
            {[...new Set([to, ...targets])].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <span className="grow" />
        <button type="button" className="btn" data-small aria-label={`Remove rule ${at + 1}`} onClick={onRemove}>
          <Icon name="trash" size={14} />
        </button>
      </div>
      {form && (
        <details>
          <summary>JSON Logic</summary>
          <pre tabIndex={0}>{JSON.stringify(rule, null, 2)}</pre>
        </details>
      )}
    </div>
  );
}

function RuleRows({ form, names, onChange }: { form: RuleForm; names: string[]; onChange: (form: RuleForm) => void }) {
  const change = (at: number, next: Partial<Comparison>) => onChange({ ...form, parts: form.parts.map((part, index) => (index === at ? { ...part, ...next } : part)) });
  return (
    <>
      {form.parts.map((part, at) => (
        <div className="row rule-part" key={at}>
          {at > 0 && (
            <select aria-label="How the parts are joined" value={form.join} onChange={(event) => onChange({ ...form, join: event.target.value as RuleForm["join"] })}>
              <option>and</option>
              <option>or</option>
            </select>
          )}
          <Operand names={names} part={part} onChange={(next) => change(at, next)} />
          {form.parts.length > 1 && (
            <button type="button" className="btn" data-small data-bare aria-label="Remove this part" onClick={() => onChange({ ...form, parts: form.parts.filter((_, index) => index !== at) })}>
              <Icon name="close" size={13} />
            </button>
          )}
        </div>
      ))}
      <button type="button" className="link" onClick={() => onChange({ ...form, parts: [...form.parts, { path: "", operator: "==", value: "" }] })}>
        and…
      </button>
    </>
  );
}

function Operand({ names, part, onChange }: { names: string[]; part: Comparison; onChange: (next: Partial<Comparison>) => void }) {
  const takes = OPERATORS.find((one) => one.operator === part.operator)?.takes;
  const [typed, setTyped] = useState(() => shownValue(part.value));
  // Typing must not be changed under the cursor; another rule in its place is.
  const shown = JSON.stringify(typedValue(typed, part.operator)) === JSON.stringify(part.value) ? typed : shownValue(part.value);
  return (
    <>
      <input aria-label="Value that is read" list="rule-names" placeholder="node.field" value={part.path} spellCheck={false} onChange={(event) => onChange({ path: event.target.value })} />
      <datalist id="rule-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <select aria-label="Comparison" value={part.operator} onChange={(event) => onChange({ operator: event.target.value as Comparison["operator"] })}>
        {OPERATORS.map(({ operator, words }) => (
          <option key={operator} value={operator}>
            {words}
          </option>
        ))}
      </select>
      {takes && (
        <input
          aria-label="Value to compare with"
          placeholder="100, text or {node.field}"
          value={shown}
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value);
            onChange({ value: typedValue(event.target.value, part.operator) });
          }}
        />
      )}
    </>
  );
}

/** A rule that says more than rows can show: JSON Logic, or JSONata as text. */
function RuleText({ rule, onChange }: { rule: Json; onChange: (rule: Json) => void }) {
  const [typed, setTyped] = useState(() => formatFreeValue(rule));
  return (
    <textarea
      aria-label="Rule as JSON Logic or JSONata"
      className="mono"
      rows={Math.min(8, typed.split("\n").length)}
      value={typed}
      spellCheck={false}
      onChange={(event) => {
        setTyped(event.target.value);
        onChange(parseFreeValue(event.target.value) ?? "");
      }}
    />
  );
}
