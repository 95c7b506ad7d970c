// An object: its declared members, and additional ones if the schema allows them.
import { useId, useState } from "react";
import type { Json } from "../api/types";
import { Group, SchemaField, type FieldProps } from "./field";
import { memberPointer } from "./server-errors";
import type { Field } from "./schema";

type Members = { [name: string]: Json };

export function ObjectField({ asked, ...props }: FieldProps & { asked: Field & { kind: "object" } }) {
  const value: Members = typeof props.value === "object" && props.value !== null && !Array.isArray(props.value) ? props.value : {};
  const set = (name: string, given: Json | undefined) => {
    const next = { ...value };
    if (given === undefined) delete next[name];
    else next[name] = given;
    const nothing = Object.keys(next).length === 0 && !props.required && !props.solid && props.pointer !== "";
    props.onChange(nothing ? undefined : next);
  };
  const described = new Set(asked.members.map((member) => member.name));
  const further = Object.keys(value).filter((name) => !described.has(name));
  const depth = (props.depth ?? 0) + 1;
  const within = props.required || props.solid || props.value !== undefined || props.pointer === "";
  return (
    <Group asked={asked} props={props}>
      {asked.members.map((member) => (
        <SchemaField
          key={member.name}
          schema={member.schema}
          name={member.name}
          pointer={memberPointer(props.pointer, member.name)}
          value={value[member.name]}
          onChange={(given) => set(member.name, given)}
          required={member.required && within}
          depth={depth}
        />
      ))}
      {further.map((name) => (
        <div key={name} className="row entry">
          <SchemaField schema={asked.more ?? {}} name={name} pointer={memberPointer(props.pointer, name)} value={value[name]} onChange={(given) => set(name, given ?? null)} required={false} solid depth={depth} />
          <button type="button" aria-label={`Remove ${name}`} onClick={() => set(name, undefined)}>
            −
          </button>
        </div>
      ))}
      {asked.more && <AdditionalMember taken={Object.keys(value)} onAdd={(name) => set(name, null)} />}
      {asked.members.length === 0 && !asked.more && <p className="quiet">No input.</p>}
    </Group>
  );
}

/** The name of an additional member. */
function AdditionalMember({ taken, onAdd }: { taken: string[]; onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const id = useId();
  const add = () => {
    const wanted = name.trim();
    if (wanted === "" || taken.includes(wanted)) return;
    onAdd(wanted);
    setName("");
  };
  return (
    <div className="row">
      <label className="unseen" htmlFor={id}>
        Name of an additional member
      </label>
      <input
        id={id}
        value={name}
        placeholder="additional member"
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
      />
      <button type="button" onClick={add} disabled={name.trim() === ""}>
        Add
      </button>
    </div>
  );
}
