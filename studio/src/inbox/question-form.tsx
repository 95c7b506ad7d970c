// A question of a run with its possible answers: a reason, a replacement output, more budget.
import { useId, useState } from "react";
import { api } from "../api/client";
import type { Question } from "../api/types";
import { ErrorMessage } from "../shell/load";
import { BUDGET, draft, answerRequest, answerWords } from "./answer";
import { CallView } from "./call-view";
import { EditArguments, useEditing } from "./edit-arguments";

export function QuestionForm({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  const [said, setSaid] = useState(() => draft(question));
  const [wrong, setWrong] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  const editing = useEditing(question);
  const say = async (answer: string) => {
    const sent = answerRequest(answer, said);
    if ("wrong" in sent) return setWrong(new Error(sent.wrong));
    if (answer === "proceed" && editing.open) {
      const typed = editing.typed();
      if ("wrong" in typed) return setWrong(new Error(typed.wrong));
      sent.arguments = typed.arguments;
    }
    setBusy(true);
    try {
      await api.answer(question.checkpoint_id, sent);
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
      <CallView question={question} />
      <EditArguments editing={editing} />
      <div className="row">
        <label>
          Why
          <input value={said.why} onChange={(event) => setSaid({ ...said, why: event.target.value })} placeholder="stored with the answer" />
        </label>
        <label>
          Who
          <input value={said.by} onChange={(event) => setSaid({ ...said, by: event.target.value })} placeholder="your name" />
        </label>
      </div>
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
          <button key={option} type="button" data-answer={option} disabled={busy} title={answerWords(option, question).means} className={option === "proceed" ? "go" : option === "reject" ? "stop" : undefined} onClick={() => void say(option)}>
            {option === "proceed" && editing.open ? "Approve with these arguments" : answerWords(option, question).word}
          </button>
        ))}
        {question.call?.editable && (
          <button type="button" aria-expanded={editing.open} disabled={busy} onClick={() => void editing.toggle().catch((caught: unknown) => setWrong(caught as Error))}>
            {editing.open ? "Cancel editing" : "Edit arguments"}
          </button>
        )}
      </div>
      {wrong && <ErrorMessage wrong={wrong} />}
    </div>
  );
}
