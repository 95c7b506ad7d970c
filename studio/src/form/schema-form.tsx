// An input for a schema, as fields or as JSON; both show the same value.
import { useId, useMemo, useState } from "react";
import type { Json, Schema } from "../api/types";
import { FormContext, SchemaField } from "./field";
import type { ServerErrors } from "./server-errors";

type Props = { schema: Schema; value: Json | undefined; onChange: (value: Json | undefined) => void; said?: ServerErrors; name: string };

export function SchemaForm({ schema, value, onChange, said, name }: Props) {
  const [raw, setRaw] = useState(false);
  const around = useMemo(() => ({ root: schema, said: said?.fields ?? {} }), [schema, said]);
  return (
    <div className="schema-form">
      <div className="row" role="group" aria-label="Input mode">
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
        <FormContext.Provider value={around}>
          <SchemaField schema={schema} name={name} pointer="" value={value} onChange={onChange} required depth={0} />
        </FormContext.Provider>
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

/** The first field with invalid JSON: its value is unknown, so nothing is sent. */
export function invalidJsonField(form: HTMLElement): HTMLElement | null {
  return form.querySelector<HTMLElement>("[data-flawed]");
}
