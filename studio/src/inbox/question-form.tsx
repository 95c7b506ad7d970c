// A question of a run with its possible answers: a reason, a replacement output, more budget.
import { useId, useRef, useState } from "react";
import { api } from "../api/client";
import type { Question } from "../api/types";
import { invalidJsonField } from "../form/schema-form";
import { ErrorMessage } from "../shell/load";
import { readStored, store } from "../shell/stored";
import { toast } from "../ui/toast";
import { BUDGET, draft, answerRequest, answerWords } from "./answer";
import { CallView } from "./call-view";
import { EditArguments, useEditing } from "./edit-arguments";
import { askedForm, initialContent } from "./form";
import { FormAnswer } from "./form-answer";

type Props = { question: Question; onAnswered: () => void; /** Shows only what a decision needs; a comment can be added. */ brief?: boolean };

/** The name is entered once per browser. */
const NAME_KEY = "tramline-name";

export function QuestionForm({ question, onAnswered, brief }: Props) {
  const [said, setSaid] = useState(() => ({ ...draft(question), by: readStored(NAME_KEY) ?? "" }));
  const [comments, setComments] = useState(!brief);
  const [wrong, setWrong] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  const editing = useEditing(question);
  const [content, setContent] = useState(() => initialContent(question));
  const form = useRef<HTMLDivElement>(null);
  const say = async (answer: string) => {
    const sent = answerRequest(answer, said);
    if ("wrong" in sent) return setWrong(new Error(sent.wrong));
    if (answer === "submit") {
      const flawed = form.current && invalidJsonField(form.current);
      if (flawed) {
        flawed.focus();
        return setWrong(new Error("A field contains invalid JSON."));
      }
      sent.content = content;
    }
    if (answer === "proceed" && editing.open) {
      const typed = editing.typed();
      if ("wrong" in typed) return setWrong(new Error(typed.wrong));
      sent.arguments = typed.arguments;
    }
    setBusy(true);
    try {
      await api.answer(question.checkpoint_id, sent);
      if (said.by.trim()) store(NAME_KEY, said.by.trim());
      toast(`${answerWords(answer, question).word}: recorded`);
      setWrong(undefined);
      onAnswered();
    } catch (caught) {
      setWrong(caught as Error);
    }
    setBusy(false);
  };
  return (
    <div className="ask" data-checkpoint={question.checkpoint_id}>
      <p>{question.message ?? "The run is waiting for an answer."}</p>
      <CallView question={question} brief={brief} />
      <EditArguments editing={editing} />
      {askedForm(question) && (
        <div ref={form}>
          <FormAnswer question={question} value={content} onChange={setContent} />
        </div>
      )}
      {comments && (
        <div className="row comment">
          <label>
            Comment
            <input value={said.why} onChange={(event) => setSaid({ ...said, why: event.target.value })} placeholder="recorded with the answer" />
          </label>
          <label>
            Your name
            <input value={said.by} autoComplete="name" onChange={(event) => setSaid({ ...said, by: event.target.value })} placeholder="recorded too" />
          </label>
        </div>
      )}
      {question.options.includes("skip") && (
        <div className="field">
          <label htmlFor={`${id}-output`}>Replacement output (JSON)</label>
          <textarea id={`${id}-output`} rows={3} value={said.output} onChange={(event) => setSaid({ ...said, output: event.target.value })} spellCheck={false} />
        </div>
      )}
      {question.options.includes("extend") &&
        Object.entries(said.budget).map(([field, typed]) => (
          <label key={field}>
            More {BUDGET[field] ?? field}
            <input inputMode="numeric" value={typed} onChange={(event) => setSaid({ ...said, budget: { ...said.budget, [field]: event.target.value } })} />
          </label>
        ))}
      <div className="row" role="group" aria-label="Answers">
        {question.options.map((option) => (
          <button key={option} type="button" data-answer={option} disabled={busy} title={answerWords(option, question).means} className={option === "proceed" || option === "submit" ? "go" : option === "reject" ? "stop" : undefined} onClick={() => void say(option)}>
            {option === "proceed" && editing.open ? "Approve with these arguments" : answerWords(option, question).word}
          </button>
        ))}
        {question.call?.editable && (
          <button type="button" aria-expanded={editing.open} disabled={busy} onClick={() => void editing.toggle().catch((caught: unknown) => setWrong(caught as Error))}>
            {editing.open ? "Cancel editing" : "Edit arguments"}
          </button>
        )}
        {!comments && (
          <button type="button" className="btn" data-bare onClick={() => setComments(true)}>
            Add a comment
          </button>
        )}
      </div>
      {wrong && <ErrorMessage wrong={wrong} />}
    </div>
  );
}
