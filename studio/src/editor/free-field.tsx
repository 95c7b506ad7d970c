// A field of a node that accepts text, an expression or any other value.
import { useEffect, useState } from "react";
import type { Json } from "../api/types";
import { Labelled, type FieldProps } from "../form/field";

/** Parses the input: JSON if it looks like JSON, otherwise text. Text that looks like JSON must be quoted. */
export function parseFreeValue(typed: string): Json | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  if (!/^([{["]|-?\d|true$|false$|null$)/.test(text)) return typed;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return typed;
  }
}

/** Formats a value so that parsing it gives the same value. */
export function formatFreeValue(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return parseFreeValue(value) === value ? value : JSON.stringify(value);
  return JSON.stringify(value, null, 2);
}

export function FreeField(props: FieldProps) {
  const about = props.schema["description"];
  const [typed, setTyped] = useState(() => formatFreeValue(props.value));
  const now = JSON.stringify(props.value);
  useEffect(() => setTyped((before) => (JSON.stringify(parseFreeValue(before)) === now ? before : formatFreeValue(props.value))), [now]);
  return (
    <Labelled asked={{ kind: "json", secret: false, nullable: true, about: typeof about === "string" ? about : undefined }} props={props}>
      {(wired) => (
        <textarea
          {...wired}
          rows={Math.min(8, typed.split("\n").length)}
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            props.onChange(parseFreeValue(event.target.value));
          }}
        />
      )}
    </Labelled>
  );
}
