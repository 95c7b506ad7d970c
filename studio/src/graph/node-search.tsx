// Finds a node by its name, its label or its tool.
import { useEffect, useId, useRef, useState } from "react";
import type { Graph } from "../api/types";
import { matching } from "./keyboard";

/** The maximum number of matches listed. */
const SHOWN_MAX = 8;

export function NodeSearch({ graph, onPick, onClose }: { graph: Graph; onPick: (node: string) => void; onClose: () => void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const found = matching(graph, words);
  const shown = found.slice(0, SHOWN_MAX);
  useEffect(() => input.current?.focus(), []);
  const pick = (id: string | undefined) => {
    if (id) onPick(id);
    onClose();
  };
  return (
    <div className="search">
      <input
        ref={input}
        role="combobox"
        aria-label="Find a node"
        aria-expanded={shown.length > 0}
        aria-controls={list}
        aria-activedescendant={shown[at] ? `${list}-${at}` : undefined}
        placeholder="Find a node…"
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          else if (event.key === "Enter") pick(shown[at]);
          else if (event.key === "ArrowDown") setAt(Math.min(at + 1, shown.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
        onBlur={() => setTimeout(onClose, 150)}
      />
      <ul id={list} role="listbox" aria-label="Nodes found">
        {shown.map((id, index) => (
          <li key={id} id={`${list}-${index}`} role="option" aria-selected={index === at} onMouseDown={() => pick(id)}>
            {id}
          </li>
        ))}
      </ul>
      <p className="unseen" role="status">
        {words && `${found.length} found`}
      </p>
    </div>
  );
}
