// Pinned outputs: a node whose output is pinned is not run, and its pin is used instead. They are kept per workflow, like breakpoints.
import { useState } from "react";
import type { Breakpoint, Json } from "../api/types";
import { Icon } from "../ui/icon";
import { toast } from "../ui/toast";
import { storeBreakpoints, storedBreakpoints } from "./stored-breakpoints";

/** The breakpoints without, or with only, pinned outputs. */
export const isPin = (one: Breakpoint): boolean => one.output !== undefined;

/** Pins an output for later runs of a workflow. */
export function storePin(workflow: string, node: string, output: Json): void {
  storeBreakpoints(workflow, [...storedBreakpoints(workflow).filter((one) => one.node !== node), { node, output }]);
  toast(`The output of ${node} is pinned for later runs`);
}

type Props = { node: string; breakpoints: Breakpoint[]; /** What the node gave, as a start. */ output?: Json; onChange: (breakpoints: Breakpoint[]) => void };

/** Pins an output of a node: as it was, or written by hand. */
export function PinForm({ node, breakpoints, output, onChange }: Props) {
  const pinned = breakpoints.find((one) => one.node === node && isPin(one));
  const others = breakpoints.filter((one) => one.node !== node);
  const [typed, setTyped] = useState<string>();
  const shown = typed ?? JSON.stringify(pinned?.output ?? output ?? null, null, 2);
  const value = parsed(shown);
  return (
    <details className="part pin-form" open={!!pinned || undefined}>
      <summary>
        <Icon name="pin" size={14} /> {pinned ? "Output pinned: this node is not run" : "Pin an output…"}
      </summary>
      <form
        className="form"
        aria-label="Pinned output"
        onSubmit={(event) => {
          event.preventDefault();
          if (value !== undefined) onChange([...others, { node, output: value }]);
        }}
      >
        <label>
          Output of {node} as JSON
          <textarea className="mono" rows={Math.min(10, shown.split("\n").length)} value={shown} spellCheck={false} aria-invalid={value === undefined || undefined} onChange={(event) => setTyped(event.target.value)} />
        </label>
        {value === undefined && <p className="hint">This is not valid JSON.</p>}
        <div className="row">
          <button type="submit" disabled={value === undefined || (!!pinned && JSON.stringify(pinned.output) === JSON.stringify(value))}>
            <Icon name="pin" /> {pinned ? "Change the pin" : "Pin"}
          </button>
          {pinned && (
            <button type="button" onClick={() => onChange(others)}>
              Remove the pin
            </button>
          )}
        </div>
      </form>
    </details>
  );
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
