// One field of a form, rendered by its schema; objects and lists contain further fields.
import { createContext, useContext, useId, type ReactNode } from "react";
import type { Json, Schema } from "../api/types";
import { ListField } from "./list";
import { ObjectField } from "./object";
import { ChoiceField, BooleanField, JsonField, NumberField, TextField } from "./scalar-fields";
import { field, type Field } from "./schema";
import { hint } from "./value";
import { VariantField } from "./variant";

export type FieldProps = {
  schema: Schema;
  name: string;
  /** The JSON pointer of the value. */
  pointer: string;
  value: Json | undefined;
  /** `undefined` omits the value. */
  onChange: (value: Json | undefined) => void;
  required: boolean;
  /** List items cannot be omitted. */
  solid?: boolean;
  depth?: number;
};

/** Shared by all fields of a form. */
export type FormContextValue = { root: Schema; said: { [pointer: string]: string } };
export const FormContext = createContext<FormContextValue>({ root: {}, said: {} });

/** Deeper values are entered as JSON: a schema may be recursive. */
const DEPTH_MAX = 6;

export function SchemaField(props: FieldProps) {
  const { root } = useContext(FormContext);
  const asked = field(props.schema, root);
  const depth = props.depth ?? 0;
  if ((asked.kind === "object" || asked.kind === "list" || asked.kind === "variant") && depth >= DEPTH_MAX) {
    return <JsonField {...props} asked={{ ...asked, kind: "json" }} />;
  }
  switch (asked.kind) {
    case "object":
      return <ObjectField {...props} asked={asked} />;
    case "list":
      return <ListField {...props} asked={asked} />;
    case "variant":
      return <VariantField {...props} asked={asked} />;
    case "choice":
      return <ChoiceField {...props} asked={asked} />;
    case "flag":
      return <BooleanField {...props} asked={asked} />;
    case "number":
      return <NumberField {...props} asked={asked} />;
    case "text":
      return <TextField {...props} asked={asked} />;
    case "json":
      return <JsonField {...props} asked={asked} />;
  }
}

type ControlProps = { id: string; "aria-describedby"?: string; "aria-invalid"?: true; "aria-required"?: true };

/** Name, description, hint and server message around one control. */
export function Labelled({ asked, props, children }: { asked: Field; props: FieldProps; children: (wired: ControlProps) => ReactNode }) {
  const { said } = useContext(FormContext);
  const id = useId();
  const wrong = said[props.pointer];
  const odd = props.value === undefined ? undefined : hint(asked, props.value, props.required);
  const described = [asked.about && `${id}-about`, odd && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  const wired: ControlProps = {
    id,
    "aria-describedby": described || undefined,
    "aria-invalid": wrong || odd ? true : undefined,
    "aria-required": props.required ? true : undefined,
  };
  return (
    <div className="field" data-pointer={props.pointer}>
      <label htmlFor={id}>
        {asked.title ?? props.name}
        {props.required && <span className="needed"> (required)</span>}
      </label>
      {asked.about && (
        <p id={`${id}-about`} className="quiet">
          {asked.about}
        </p>
      )}
      {children(wired)}
      {odd && (
        <p id={`${id}-hint`} className="hint">
          {odd}
        </p>
      )}
      {wrong && (
        <p id={`${id}-wrong`} className="wrong" role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** A group of fields with its name. */
export function Group({ asked, props, children }: { asked: Field; props: FieldProps; children: ReactNode }) {
  const { said } = useContext(FormContext);
  const id = useId();
  const wrong = said[props.pointer];
  const bare = props.pointer === "";
  return (
    <fieldset className={bare ? "group bare" : "group"} data-pointer={props.pointer} aria-describedby={asked.about ? id : undefined}>
      <legend className={bare ? "unseen" : undefined}>
        {asked.title ?? props.name}
        {props.required && !bare && <span className="needed"> (required)</span>}
      </legend>
      {asked.about && (
        <p id={id} className="quiet">
          {asked.about}
        </p>
      )}
      {children}
      {wrong && (
        <p className="wrong" role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  );
}
