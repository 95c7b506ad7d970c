// A field of a node that takes a text, an expression or any other value, written the shortest way.
import { useEffect, useState } from "react";
import type { Json } from "../api/types";
import { Labelled, type FieldProps } from "../form/field";

/** What was typed: JSON where it looks like some, else text. Text that looks like JSON is put in quotes. */
export function meant(typed: string): Json | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  if (!/^([{["]|-?\d|true$|false$|null$)/.test(text)) return typed;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return typed;
  }
}

/** A value so that what is meant by it is the value again. */
export function typedAs(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return meant(value) === value ? value : JSON.stringify(value);
  return JSON.stringify(value, null, 2);
}

export function FreeField(props: FieldProps) {
  const about = props.schema["description"];
  const [typed, setTyped] = useState(() => typedAs(props.value));
  const now = JSON.stringify(props.value);
  useEffect(() => setTyped((before) => (JSON.stringify(meant(before)) === now ? before : typedAs(props.value))), [now]);
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
            props.onChange(meant(event.target.value));
          }}
        />
      )}
    </Labelled>
  );
}
