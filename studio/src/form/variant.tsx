// A value with several possible schemas: choose one, then its field is shown.
import { useContext, useId, useState } from "react";
import type { Json } from "../api/types";
import { FormContext, Group, SchemaField, type FieldProps } from "./field";
import { field, type Field } from "./schema";
import { initialValue } from "./value";

export function VariantField({ asked, ...props }: FieldProps & { asked: Field & { kind: "variant" } }) {
  const { root } = useContext(FormContext);
  const id = useId();
  const [picked, setPicked] = useState(() => matchingVariant(asked, props.value, root));
  const option = asked.options[picked];
  return (
    <Group asked={asked} props={props}>
      <div className="row">
        <label htmlFor={id}>Variant</label>
        <select
          id={id}
          value={picked}
          onChange={(event) => {
            const next = Number(event.target.value);
            const chosen = asked.options[next];
            setPicked(next);
            props.onChange(chosen ? (initialValue(chosen.schema, root) ?? (props.solid ? null : undefined)) : undefined);
          }}
        >
          <option value={-1}>not set</option>
          {asked.options.map((one, index) => (
            <option key={index} value={index}>
              {one.label}
            </option>
          ))}
        </select>
      </div>
      {option && <SchemaField {...props} schema={option.schema} name={option.label} depth={(props.depth ?? 0) + 1} />}
    </Group>
  );
}

/** The variant that a value matches, or the first one. */
function matchingVariant(asked: Field & { kind: "variant" }, value: Json | undefined, root: FieldProps["schema"]): number {
  if (value === undefined || value === null) return -1;
  const fits = asked.options.findIndex(({ schema }) => {
    const inner = field(schema, root);
    switch (inner.kind) {
      case "text":
        return typeof value === "string";
      case "number":
        return typeof value === "number";
      case "flag":
        return typeof value === "boolean";
      case "list":
        return Array.isArray(value);
      case "choice":
        return inner.options.some((one) => JSON.stringify(one) === JSON.stringify(value));
      case "object":
        return typeof value === "object" && !Array.isArray(value) && inner.members.every((member) => !member.required || member.name in value);
      case "variant":
      case "json":
        return true;
    }
  });
  return fits < 0 ? 0 : fits;
}
