// Fields with one value: text, number, boolean, choice, or raw JSON.
import { useEffect, useId, useState } from "react";
import type { Json } from "../api/types";
import { Labelled, type FieldProps } from "./field";
import type { Field } from "./schema";

type FieldOf<K extends Field["kind"]> = FieldProps & { asked: Field & { kind: K } };

/** Formats for which browsers have a suitable input type. */
const CONTROLS: { [format: string]: string } = { date: "date", email: "email", uri: "url", url: "url", password: "password" };

export function TextField({ asked, ...props }: FieldOf<"text">) {
  const list = useId();
  const text = typeof props.value === "string" ? props.value : props.value === undefined || props.value === null ? "" : JSON.stringify(props.value);
  const change = (typed: string) => props.onChange(typed === "" && !props.solid ? undefined : typed);
  const long = asked.long || text.includes("\n");
  return (
    <Labelled asked={asked} props={props}>
      {(wired) =>
        long && !asked.secret ? (
          <textarea {...wired} rows={5} value={text} onChange={(event) => change(event.target.value)} />
        ) : (
          <>
            <input
              {...wired}
              type={asked.secret ? "password" : (CONTROLS[asked.format ?? ""] ?? "text")}
              autoComplete="off"
              spellCheck={false}
              list={asked.examples.length ? list : undefined}
              value={text}
              onChange={(event) => change(event.target.value)}
            />
            {asked.examples.length > 0 && (
              <datalist id={list}>
                {asked.examples.map((example) => (
                  <option key={example} value={example} />
                ))}
              </datalist>
            )}
          </>
        )
      }
    </Labelled>
  );
}

export function NumberField({ asked, ...props }: FieldOf<"number">) {
  const [typed, setTyped] = useState(() => shown(props.value));
  // A value from outside replaces the typed text; the typed text itself is not reformatted.
  useEffect(() => setTyped((before) => (read(before) === props.value ? before : shown(props.value))), [props.value]);
  return (
    <Labelled asked={asked} props={props}>
      {(wired) => (
        <input
          {...wired}
          inputMode={asked.whole ? "numeric" : "decimal"}
          autoComplete="off"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            props.onChange(read(event.target.value));
          }}
        />
      )}
    </Labelled>
  );
}

/** Text that is not a number is sent unchanged; the server reports it. */
function read(typed: string): Json | undefined {
  const trimmed = typed.trim();
  if (trimmed === "") return undefined;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : typed;
}

function shown(value: Json | undefined): string {
  return value === undefined || value === null ? "" : String(value);
}

export function BooleanField({ asked, ...props }: FieldOf<"flag">) {
  const given = props.value === true ? "true" : props.value === false ? "false" : "";
  return (
    <Labelled asked={asked} props={props}>
      {(wired) => (
        <select {...wired} value={given} onChange={(event) => props.onChange(event.target.value === "" ? undefined : event.target.value === "true")}>
          <option value="">not set</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      )}
    </Labelled>
  );
}

export function ChoiceField({ asked, ...props }: FieldOf<"choice">) {
  const picked = asked.options.findIndex((option) => JSON.stringify(option) === JSON.stringify(props.value));
  return (
    <Labelled asked={asked} props={props}>
      {(wired) => (
        <select
          {...wired}
          value={picked < 0 ? "" : String(picked)}
          onChange={(event) => props.onChange(event.target.value === "" ? undefined : asked.options[Number(event.target.value)])}
        >
          <option value="">not set</option>
          {asked.options.map((option, index) => (
            <option key={index} value={String(index)}>
              {typeof option === "string" ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function JsonField({ asked, ...props }: FieldOf<"json">) {
  const [typed, setTyped] = useState(() => written(props.value));
  useEffect(() => setTyped((before) => (same(before, props.value) ? before : written(props.value))), [props.value]);
  const flawed = typed.trim() !== "" && parsed(typed) === undefined;
  return (
    <Labelled asked={asked} props={props}>
      {(wired) => (
        <>
          <textarea
            {...wired}
            rows={Math.min(12, Math.max(2, typed.split("\n").length))}
            spellCheck={false}
            placeholder="JSON"
            data-flawed={flawed || undefined}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              const value = parsed(event.target.value);
              if (value !== undefined || event.target.value.trim() === "") props.onChange(value);
            }}
          />
          {flawed && <p className="hint">not valid JSON</p>}
        </>
      )}
    </Labelled>
  );
}

function parsed(typed: string): Json | undefined {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return undefined;
  }
}

function same(typed: string, value: Json | undefined): boolean {
  const now = parsed(typed);
  return now === undefined ? typed.trim() !== "" || value === undefined : JSON.stringify(now) === JSON.stringify(value);
}

function written(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}
