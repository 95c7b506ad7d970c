// A JSON value as a collapsible tree. Large values are only drawn in part.
import { useState } from "react";
import type { Json } from "../api/types";

/** The number of members shown at once, and of characters of a text. */
const MEMBERS_SHOWN = 50;
const LETTERS_SHOWN = 400;
/** Values with up to this many members start expanded; half as many per level. */
const OPEN_MEMBERS = 12;

type Props = { value: Json | undefined; name?: string; depth?: number; label?: string };

/** A named value, expanded as far as is readable. */
export function Tree({ value, label, bare }: { value: Json | undefined; label: string; /** Shows the members of an object without a line for the object. */ bare?: boolean }) {
  const members = bare && value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length <= MEMBERS_SHOWN ? Object.entries(value) : [];
  return (
    <div className="tree" role="group" aria-label={label}>
      {members.length > 0 ? members.map(([name, one]) => <Branch key={name} name={name} value={one} depth={1} />) : <Branch value={value} depth={0} />}
    </div>
  );
}

function Branch({ value, name, depth = 0 }: Props) {
  if (value === undefined) return <Leaf name={name} text="nothing" kind="null" />;
  if (value === null || typeof value === "boolean") return <Leaf name={name} text={String(value)} kind="null" />;
  if (typeof value === "number") return <Leaf name={name} text={String(value)} kind="number" />;
  if (typeof value === "string") return <Text name={name} text={value} />;
  return <Members value={value} name={name} depth={depth} />;
}

function Leaf({ name, text, kind }: { name?: string; text: string; kind: string }) {
  return (
    <div className="leaf">
      {name !== undefined && <span className="key">{name}: </span>}
      <span className={kind}>{text}</span>
    </div>
  );
}

function Text({ name, text }: { name?: string; text: string }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > LETTERS_SHOWN;
  const lines = text.includes("\n");
  const shown = long && !whole ? text.slice(0, LETTERS_SHOWN) + "…" : text;
  return (
    <div className="leaf">
      {name !== undefined && <span className="key">{name}: </span>}
      <span className="string" data-lines={lines || undefined}>
        {lines ? shown : JSON.stringify(shown)}
      </span>
      {long && (
        <button type="button" className="more" onClick={() => setWhole(!whole)}>
          {whole ? "less" : `all ${text.length.toLocaleString("en")} characters`}
        </button>
      )}
    </div>
  );
}

function Members({ value, name, depth }: { value: Json[] | { [key: string]: Json }; name?: string; depth: number }) {
  const list = Array.isArray(value);
  const total = list ? value.length : Object.keys(value).length;
  const [open, setOpen] = useState(total <= OPEN_MEMBERS >> depth);
  const [shown, setShown] = useState(MEMBERS_SHOWN);
  const about = list ? `[ ${total} ]` : `{ ${total} }`;
  if (total === 0) return <Leaf name={name} text={list ? "[]" : "{}"} kind="null" />;
  const keys = list ? value.slice(0, shown).map((_, index) => String(index)) : Object.keys(value).slice(0, shown);
  return (
    <div className="branch">
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {name !== undefined && <span className="key">{name}: </span>}
        <span className="about">{about}</span>
      </button>
      {open && (
        <div className="members">
          {keys.map((key) => (
            <Branch key={key} name={key} value={(value as { [key: string]: Json })[key]} depth={depth + 1} />
          ))}
          {total > shown && (
            <button type="button" className="more" onClick={() => setShown(shown + MEMBERS_SHOWN * 4)}>
              {(total - shown).toLocaleString("en")} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}
