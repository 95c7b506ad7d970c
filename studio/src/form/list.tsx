// A list: its items one under the other, to be added, moved and taken away.
import { useContext } from "react";
import type { Json } from "../api/types";
import { FormAround, Group, SchemaField, type FieldProps } from "./field";
import { inside } from "./said";
import type { Field } from "./schema";
import { empty } from "./value";

/** So many items are drawn; longer lists are given as JSON. */
const SHOWN_MAX = 100;

export function ListField({ asked, ...props }: FieldProps & { asked: Field & { kind: "list" } }) {
  const { root } = useContext(FormAround);
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
            pointer={inside(props.pointer, index)}
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
      {value.length > SHOWN_MAX && <p className="quiet">{value.length - SHOWN_MAX} more are not shown; JSON shows them.</p>}
      <button type="button" className="add" disabled={asked.most !== undefined && value.length >= asked.most} onClick={() => give([...value, empty(schemaOf(value.length), root)])}>
        Add to {name}
      </button>
    </Group>
  );
}

/** The list with the item at `index` and the one after it the other way round. */
function swapped(value: Json[], index: number): Json[] {
  const next = [...value];
  const [first, second] = [next[index], next[index + 1]];
  if (first === undefined || second === undefined) return value;
  next[index] = second;
  next[index + 1] = first;
  return next;
}
