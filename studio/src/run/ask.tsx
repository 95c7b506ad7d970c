// A question of a run with the answers that it takes.
import { useState } from "react";
import { api } from "../api/client";
import type { Json, Question } from "../api/types";
import { Trouble } from "../shell/load";

const WORDS: { [answer: string]: string } = {
  proceed: "Go on", reject: "Refuse", retry: "Try again", skip: "Skip", extend: "Allow more", abort: "End the run",
};

export function Ask({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  const [why, setWhy] = useState("");
  const [output, setOutput] = useState("null");
  const [wrong, setWrong] = useState<Error>();
  const say = async (answer: string) => {
    try {
      const given = { answer, why: why || undefined, output: answer === "skip" ? (JSON.parse(output) as Json) : undefined };
      await api.answer(question.checkpoint_id, given);
      setWrong(undefined);
      onAnswered();
    } catch (caught) {
      setWrong(caught as Error);
    }
  };
  return (
    <div className="ask">
      <p>{question.message ?? "The run waits."}</p>
      <label>
        Why
        <input value={why} onChange={(event) => setWhy(event.target.value)} placeholder="kept with the answer" />
      </label>
      {question.options.includes("skip") && (
        <label>
          Output in its place
          <input value={output} onChange={(event) => setOutput(event.target.value)} spellCheck={false} />
        </label>
      )}
      <div className="row">
        {question.options.map((option) => (
          <button key={option} type="button" data-answer={option} className={option === "proceed" ? "go" : undefined} onClick={() => void say(option)}>
            {WORDS[option] ?? option}
          </button>
        ))}
      </div>
      {wrong && <Trouble wrong={wrong} />}
    </div>
  );
}
