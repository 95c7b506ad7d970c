// Evaluates expressions on real data. The server evaluates them, so the result is the same as in a run.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { EvaluationResult } from "../api/types";
import { evaluationRequest, lineAt, type Language } from "../playground/evaluation-request";
import { DataSource, type DataChoice } from "../playground/data";
import { useRouter } from "../router";
import { Operands } from "../run/branch-explanation";
import { ExpressionEditor } from "../playground/expression-editor";
import { keepExpression, pastExpressions } from "../playground/expression-history";
import { ErrorMessage } from "../shell/load";
import { Menu } from "../ui/menu";
import { Tree } from "../value/tree";

/** The expression is evaluated after this long without typing. */
const TYPING_MS = 300;
/** An expression is kept in the history after this long. */
const KEEP_MS = 2_000;
const EXAMPLES: { [language in Language]: string } = { jsonata: "$sum(numbers)", jsonlogic: '{"<": [{"var": "numbers.0"}, 10]}' };

export default function Playground() {
  const given = new URLSearchParams(useRouter().search);
  const [language, setLanguage] = useState<Language>(given.get("language") === "jsonlogic" ? "jsonlogic" : "jsonata");
  const [expression, setExpression] = useState(given.get("expression") ?? EXAMPLES[language]);
  const [names, setNames] = useState<string[]>([]);
  const [past, setPast] = useState(pastExpressions);
  const run = given.get("run") ?? "";
  const [data, setData] = useState<DataChoice>({ from: run ? "run" : "json", text: '{\n  "numbers": [1, 2, 3]\n}', run, seq: given.get("seq") ?? "" });
  const { result, wrong, busy } = useEvaluation(language, expression, data);
  // What was left alone for a while and has a value is worth keeping.
  useEffect(() => {
    if (busy || !result || result.error || expression === EXAMPLES[language] || expression.trim() === "") return;
    const timer = setTimeout(() => setPast(keepExpression({ language, expression, at_ms: Date.now() })), KEEP_MS);
    return () => clearTimeout(timer);
  }, [busy, result, expression, language]);
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
            <span className="grow" />
            <Menu
              label="History"
              icon="clock"
              disabled={past.length === 0}
              items={past.map((one) => ({
                label: one.expression.length > 80 ? `${one.expression.slice(0, 79)}…` : one.expression,
                hint: one.language === "jsonata" ? "JSONata" : "JSON Logic",
                onPick: () => {
                  setLanguage(one.language);
                  setExpression(one.expression);
                },
              }))}
            />
          </div>
          <div className="field">
            <span className="field-name">{language === "jsonata" ? "Expression" : "Rule"}</span>
            <ExpressionEditor label={language === "jsonata" ? "Expression" : "Rule"} language={language === "jsonata" ? "jsonata" : "json"} value={expression} onChange={setExpression} names={names} />
            <p className="quiet">Ctrl+Space completes names and functions.</p>
          </div>
          <DataSource value={data} onChange={setData} onNames={setNames} />
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
