// Lets a person change the arguments before approving a call.
import { useId, useState } from "react";
import { api } from "../api/client";
import type { Json, ProposedCall, Question } from "../api/types";
import { parseArguments, editText } from "./call-format";

export type Editing = {
  open: boolean;
  text: string;
  call?: ProposedCall;
  setText: (text: string) => void;
  toggle: () => Promise<void>;
  typed: () => { arguments: Json } | { wrong: string };
};

/** The state of an edit. Truncated arguments are fetched in full first. */
export function useEditing(question: Question): Editing {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [call, setCall] = useState<ProposedCall>();
  const toggle = async () => {
    if (open) return setOpen(false);
    const whole = (await api.approval(question.checkpoint_id)).call;
    if (!whole) return;
    setCall(whole);
    setText(editText(whole));
    setOpen(true);
  };
  const typed = () => (call ? parseArguments(text, call) : { wrong: "the arguments are not loaded yet" });
  return { open, text, call, setText, toggle, typed };
}

export function EditArguments({ editing }: { editing: Editing }) {
  const id = useId();
  if (!editing.open) return null;
  const rows = Math.min(20, editing.text.split("\n").length + 1);
  return (
    <div className="field">
      <label htmlFor={id}>Arguments (JSON)</label>
      <textarea id={id} rows={rows} value={editing.text} onChange={(event) => editing.setText(event.target.value)} spellCheck={false} />
      <p className="quiet">
        They are checked against the tool's schema, and recorded with your name.
        {editing.call?.fixed && ` These contain secrets and cannot be changed: ${editing.call.fixed.join(", ")}.`}
      </p>
    </div>
  );
}
