// What a question is about: its call or its workflow, since when it waits, and its run.
import type { Question } from "../api/types";
import { Link, to } from "../router";
import { Ago } from "../ui/time";

const KINDS: { [kind: string]: string } = { approval: "approval", effect: "repeated call", layer: "plan review", budget: "budget", "in-doubt": "call in doubt", child: "called workflow", break: "breakpoint" };

export function QuestionHead({ question }: { question: Question }) {
  const since = question.waits_since_ms;
  const kind = String(question["kind"] ?? "question");
  return (
    <header className="row question-head">
      <h3>{question.call?.name ?? question.workflow}</h3>
      <span className="tag">{KINDS[kind] ?? kind}</span>
      <span className="grow" />
      {kind === "layer" && <Link href={`${to("runs", question.run_id ?? "")}?plan`}>Plan changes</Link>}
      <span className="quiet">
        <Link href={to("runs", question.run_id ?? "")}>{question.workflow}</Link>
        {question.node && ` · ${question.node}`}
        {since !== undefined && (
          <>
            {" · "}
            <Ago ms={since} />
          </>
        )}
      </span>
    </header>
  );
}
