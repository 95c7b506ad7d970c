// Evaluates expressions on real data. The server evaluates them, so the result is the same as in a run.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { EvaluationResult } from "../api/types";
import { evaluationRequest, lineAt, type Language } from "../playground/evaluation-request";
import { DataSource, type DataChoice } from "../playground/data";
import { useRouter } from "../router";
import { Operands } from "../run/branch-explanation";
import { ErrorMessage } from "../shell/load";
import { Tree } from "../value/tree";

/** The expression is evaluated after this long without typing. */
const TYPING_MS = 300;
const EXAMPLES: { [language in Language]: string } = { jsonata: "$sum(numbers)", jsonlogic: '{"<": [{"var": "numbers.0"}, 10]}' };

export default function Playground() {
  const given = new URLSearchParams(useRouter().search);
  const [language, setLanguage] = useState<Language>("jsonata");
  const [expression, setExpression] = useState(given.get("expression") ?? EXAMPLES.jsonata);
  const run = given.get("run") ?? "";
  const [data, setData] = useState<DataChoice>({ from: run ? "run" : "json", text: '{\n  "numbers": [1, 2, 3]\n}', run, seq: given.get("seq") ?? "" });
  const { result, wrong, busy } = useEvaluation(language, expression, data);
  const choose = (next: Language) => {
    setLanguage(next);
    if (expression === EXAMPLES[language] || expression.trim() === "") setExpression(EXAMPLES[next]);
  };
  return (
    <section className="page broad">
      <h1>Playground</h1>
      <div className="split play">
        <div className="form">
          <div className="row" role="group" aria-label="Language">
            <button type="button" aria-pressed={language === "jsonata"} onClick={() => choose("jsonata")}>
              JSONata
            </button>
            <button type="button" aria-pressed={language === "jsonlogic"} onClick={() => choose("jsonlogic")}>
              JSON Logic
            </button>
          </div>
          <div className="field">
            <label htmlFor="expression">{language === "jsonata" ? "Expression" : "Rule"}</label>
            <textarea id="expression" rows={7} value={expression} onChange={(event) => setExpression(event.target.value)} spellCheck={false} />
          </div>
          <DataSource value={data} onChange={setData} />
        </div>
        <section aria-label="Result" aria-busy={busy}>
          <h2>Result</h2>
          {wrong ? <ErrorMessage wrong={wrong} /> : <ResultView result={result} expression={expression} />}
        </section>
      </div>
    </section>
  );
}

function ResultView({ result, expression }: { result?: EvaluationResult; expression: string }) {
  if (!result) return <p className="quiet">…</p>;
  if (result.error) {
    const { code, message, position } = result.error;
    const at = position === undefined || position === null ? undefined : lineAt(expression, position);
    return (
      <div className="trouble" role="alert">
        <p>
          {message} <code>{code}</code>
          {at && ` (line ${at.line}, column ${at.column})`}
        </p>
      </div>
    );
  }
  return (
    <>
      {result.undefined ? <p className="quiet">The expression has no value here.</p> : <Tree value={result.value} label="Value" />}
      {result.tree && (
        <details className="part why">
          <summary>Evaluation steps</summary>
          <Operands tree={result.tree} name="The expression with its values" />
        </details>
      )}
    </>
  );
}

/** Asks the server whenever typing pauses; the last result stays until the next arrives. */
function useEvaluation(language: Language, expression: string, data: DataChoice): { result?: EvaluationResult; wrong?: Error; busy: boolean } {
  const [state, setState] = useState<{ result?: EvaluationResult; wrong?: Error; busy: boolean }>({ busy: true });
  useEffect(() => {
    const stop = new AbortController();
    const request = evaluationRequest(language, expression, data);
    if ("wrong" in request) {
      setState({ busy: false, wrong: request.wrong ? new Error(request.wrong) : undefined });
      return;
    }
    setState((before) => ({ ...before, busy: true }));
    const timer = setTimeout(() => {
      api.evaluate(request, stop.signal).then(
        (result) => !stop.signal.aborted && setState({ result, busy: false }),
        (wrong: Error) => !stop.signal.aborted && setState({ wrong, busy: false }),
      );
    }, TYPING_MS);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [language, expression, data]);
  return state;
}
