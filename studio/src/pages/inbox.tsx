// What all runs ask, and a place to answer.
import { api } from "../api/client";
import { Link, to } from "../router";
import { Ask } from "../run/ask";
import { Show, useLoad } from "../shell/load";
import { askedChanged } from "../shell/asked";

export function Inbox() {
  const asked = useLoad(() => api.approvals(), []);
  return (
    <section className="page">
      <h1>Waiting for an answer</h1>
      <Show from={asked}>
        {({ approvals }) =>
          approvals.length === 0 ? (
            <p>Nothing waits for an answer.</p>
          ) : (
            <ul className="cards">
              {approvals.map((question) => (
                <li key={question.checkpoint_id}>
                  <h2>
                    <Link href={to("runs", question.run_id ?? "")}>{question.workflow}</Link>
                  </h2>
                  <Ask
                    question={question}
                    onAnswered={() => {
                      askedChanged();
                      asked.again();
                    }}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </section>
  );
}
