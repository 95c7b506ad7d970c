// An input for a schema, by fields or as JSON; both show the same value.
import { useId, useMemo, useState } from "react";
import type { Json, Schema } from "../api/types";
import { FormAround, SchemaField } from "./field";
import type { Said } from "./said";

type Props = { schema: Schema; value: Json | undefined; onChange: (value: Json | undefined) => void; said?: Said; name: string };

export function SchemaForm({ schema, value, onChange, said, name }: Props) {
  const [raw, setRaw] = useState(false);
  const around = useMemo(() => ({ root: schema, said: said?.fields ?? {} }), [schema, said]);
  return (
    <div className="schema-form">
      <div className="row" role="group" aria-label="How the input is given">
        <button type="button" aria-pressed={!raw} onClick={() => setRaw(false)}>
          Fields
        </button>
        <button type="button" aria-pressed={raw} onClick={() => setRaw(true)}>
          JSON
        </button>
      </div>
      {raw ? (
        <RawJson value={value} onChange={onChange} name={name} />
      ) : (
        <FormAround.Provider value={around}>
          <SchemaField schema={schema} name={name} pointer="" value={value} onChange={onChange} required depth={0} />
        </FormAround.Provider>
      )}
    </div>
  );
}

function RawJson({ value, onChange, name }: { value: Json | undefined; onChange: (value: Json | undefined) => void; name: string }) {
  const [typed, setTyped] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [wrong, setWrong] = useState<string>();
  const id = useId();
  const change = (text: string) => {
    setTyped(text);
    try {
      onChange(text.trim() === "" ? undefined : (JSON.parse(text) as Json));
      setWrong(undefined);
    } catch (caught) {
      setWrong((caught as Error).message);
    }
  };
  return (
    <div className="field">
      <label htmlFor={id}>{name} as JSON</label>
      <textarea id={id} rows={14} spellCheck={false} value={typed} data-flawed={wrong ? true : undefined} aria-invalid={wrong ? true : undefined} aria-describedby={wrong ? `${id}-wrong` : undefined} onChange={(event) => change(event.target.value)} />
      {wrong && (
        <p id={`${id}-wrong`} className="wrong" role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** The first text of a form that is to be JSON and is none: what was meant cannot be told, so nothing is sent. */
export function flawedIn(form: HTMLElement): HTMLElement | null {
  return form.querySelector<HTMLElement>("[data-flawed]");
}
