// A list whose items can be added, moved and removed.
import { useContext } from "react";
import type { Json } from "../api/types";
import { FormContext, Group, SchemaField, type FieldProps } from "./field";
import { memberPointer } from "./server-errors";
import type { Field } from "./schema";
import { emptyItem } from "./value";

/** The maximum number of items shown; longer lists are entered as JSON. */
const SHOWN_MAX = 100;

export function ListField({ asked, ...props }: FieldProps & { asked: Field & { kind: "list" } }) {
  const { root } = useContext(FormContext);
  const value: Json[] = Array.isArray(props.value) ? props.value : [];
  const schemaOf = (index: number) => asked.first[index] ?? asked.items;
  const give = (next: Json[]) => props.onChange(next.length === 0 && !props.required && !props.solid ? undefined : next);
  const name = asked.title ?? props.name;
  return (
    <Group asked={asked} props={props}>
      {value.slice(0, SHOWN_MAX).map((item, index) => (
        <div key={index} className="row entry">
          <SchemaField
            schema={schemaOf(index)}
            name={`${name} ${index + 1}`}
            pointer={memberPointer(props.pointer, index)}
            value={item}
            onChange={(given) => give(value.map((one, at) => (at === index ? (given ?? null) : one)))}
            required={false}
            solid
            depth={(props.depth ?? 0) + 1}
          />
          <span className="row">
            <button type="button" aria-label={`Move ${name} ${index + 1} up`} disabled={index === 0} onClick={() => give(swapped(value, index - 1))}>
              ↑
            </button>
            <button type="button" aria-label={`Remove ${name} ${index + 1}`} onClick={() => give(value.filter((_, at) => at !== index))}>
              −
            </button>
          </span>
        </div>
      ))}
      {value.length > SHOWN_MAX && <p className="quiet">{value.length - SHOWN_MAX} more items are not shown; switch to JSON to see them.</p>}
      <button type="button" className="add" disabled={asked.most !== undefined && value.length >= asked.most} onClick={() => give([...value, emptyItem(schemaOf(value.length), root)])}>
        Add to {name}
      </button>
    </Group>
  );
}

/** The list with the item at `index` and the next one swapped. */
function swapped(value: Json[], index: number): Json[] {
  const next = [...value];
  const [first, second] = [next[index], next[index + 1]];
  if (first === undefined || second === undefined) return value;
  next[index] = second;
  next[index + 1] = first;
  return next;
}
