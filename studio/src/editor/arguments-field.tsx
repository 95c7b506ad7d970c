// The arguments of a call as a form: one field per parameter of the tool, each a value or an expression.
import { useEffect, useState } from "react";
import type { Json, Schema } from "../api/types";
import { FreeField } from "./free-field";
import { toolInputSchema } from "./registry";

type Props = { tool: string; name: string; value: Json | undefined; onChange: (value: Json | undefined) => void };

/** The parameters of a tool; undefined until they are known. */
export function useParameters(tool: string | undefined): { properties: { [name: string]: Schema }; required: string[] } | undefined {
  const [schema, setSchema] = useState<Schema>();
  useEffect(() => {
    let over = false;
    setSchema(undefined);
    if (tool) void toolInputSchema(tool).then((found) => !over && setSchema(found));
    return () => {
      over = true;
    };
  }, [tool]);
  const properties = schema?.["properties"];
  if (properties === null || typeof properties !== "object" || Array.isArray(properties)) return undefined;
  const required = schema?.["required"];
  return { properties: properties as { [name: string]: Schema }, required: Array.isArray(required) ? required.map(String) : [] };
}

export function ArgumentsField({ tool, name, value, onChange }: Props) {
  const parameters = useParameters(tool);
  const given = value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  // An expression that makes all arguments is edited as one value.
  if (!parameters || (value !== undefined && !given)) return <FreeField schema={{}} name={name} pointer={`/${name}`} value={value} onChange={onChange} required={false} />;
  const known = [...parameters.required, ...Object.keys(parameters.properties).filter((key) => !parameters.required.includes(key))];
  const unknown = Object.keys(given ?? {}).filter((key) => !parameters.properties[key]);
  const set = (key: string, next: Json | undefined) => {
    const all = { ...given };
    if (next === undefined) delete all[key];
    else all[key] = next;
    onChange(all);
  };
  return (
    <fieldset className="group arguments">
      <legend>Arguments of {tool}</legend>
      {known.map((key) => (
        <FreeField key={key} schema={parameters.properties[key] ?? {}} name={key} pointer={`/${name}/${key}`} value={given?.[key]} onChange={(next) => set(key, next)} required={parameters.required.includes(key)} />
      ))}
      {unknown.map((key) => (
        <div key={key}>
          <FreeField schema={{}} name={key} pointer={`/${name}/${key}`} value={given?.[key]} onChange={(next) => set(key, next)} required={false} />
          <p className="hint">The tool has no such parameter.</p>
        </div>
      ))}
    </fieldset>
  );
}
