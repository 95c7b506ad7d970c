// Chooses a tool: typing searches all tools that documents can call, with their descriptions.
import { useEffect, useId, useState } from "react";
import { findTools } from "./registry";

type Props = { label: string; value: string; placeholder: string; onChange: (name: string) => void };

/** The maximum number of matches shown. */
const SHOWN_MAX = 12;
const TYPING_MS = 150;

export function ToolPicker({ label, value, placeholder, onChange }: Props) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState<{ name: string; about?: string }[]>([]);
  const [at, setAt] = useState(-1);
  const list = useId();
  useEffect(() => {
    if (!open) return;
    let over = false;
    const timer = setTimeout(() => void findTools(value.trim(), undefined).then(({ tools }) => !over && (setFound(tools.slice(0, SHOWN_MAX)), setAt(-1))), TYPING_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [open, value]);
  const shown = open && found.length > 0 && !(found.length === 1 && found[0]?.name === value);
  const pick = (name: string) => {
    onChange(name);
    setOpen(false);
  };
  return (
    <span className="picker">
      <label>
        {label}{" "}
        <input
          role="combobox"
          aria-expanded={shown}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={shown && at >= 0 ? `${list}-${at}` : undefined}
          value={value}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
          onFocus={() => setOpen(true)}
          onBlur={() => setTimeout(() => setOpen(false), 150)}
          onChange={(event) => {
            onChange(event.target.value);
            setOpen(true);
          }}
          onKeyDown={(event) => {
            if (!shown) return;
            if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(at - 1, -1));
            else if (event.key === "Enter" && found[at]) pick(found[at].name);
            else if (event.key === "Escape") setOpen(false);
            else return;
            event.preventDefault();
          }}
        />
      </label>
      {shown && (
        <ul id={list} className="menu picker-list" role="listbox" aria-label="Tools">
          {found.map((tool, index) => (
            <li key={tool.name} id={`${list}-${index}`} className="menu-item" role="option" aria-selected={index === at} data-highlighted={index === at || undefined} onMouseDown={() => pick(tool.name)}>
              <span className="menu-words">
                <code>{tool.name}</code>
                {tool.about && <span className="menu-hint clamp">{tool.about}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
