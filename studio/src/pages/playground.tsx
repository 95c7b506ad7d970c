// Expressions tried out on real data, evaluated by the server: what holds here holds in a run.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Evaluated } from "../api/types";
import { asked, lineAt, type Language } from "../playground/asked";
import { DataSource, type Given } from "../playground/data";
import { useRouter } from "../router";
import { Operands } from "../run/why";
import { Trouble } from "../shell/load";
import { Tree } from "../value/tree";

/** After so long without a further letter the expression is evaluated. */
const TYPING_MS = 300;
const BEGUN: { [language in Language]: string } = { jsonata: "$sum(numbers)", jsonlogic: '{"<": [{"var": "numbers.0"}, 10]}' };

export default function Playground() {
  const given = new URLSearchParams(useRouter().search);
  const [language, setLanguage] = useState<Language>("jsonata");
  const [expression, setExpression] = useState(given.get("expression") ?? BEGUN.jsonata);
  const run = given.get("run") ?? "";
  const [data, setData] = useState<Given>({ from: run ? "run" : "json", text: '{\n  "numbers": [1, 2, 3]\n}', run, seq: given.get("seq") ?? "" });
  const { result, wrong, busy } = useEvaluated(language, expression, data);
  const choose = (next: Language) => {
    setLanguage(next);
    if (expression === BEGUN[language] || expression.trim() === "") setExpression(BEGUN[next]);
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
          {wrong ? <Trouble wrong={wrong} /> : <Shown result={result} expression={expression} />}
        </section>
      </div>
    </section>
  );
}

function Shown({ result, expression }: { result?: Evaluated; expression: string }) {
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
      {result.undefined ? <p className="quiet">Nothing: the expression has no value here.</p> : <Tree value={result.value} label="Value" />}
      {result.tree && (
        <details className="part why">
          <summary>How it came to that</summary>
          <Operands tree={result.tree} name="The expression with its values" />
        </details>
      )}
    </>
  );
}

/** Asks the server whenever typing pauses; the last answer stays until the next is there. */
function useEvaluated(language: Language, expression: string, data: Given): { result?: Evaluated; wrong?: Error; busy: boolean } {
  const [state, setState] = useState<{ result?: Evaluated; wrong?: Error; busy: boolean }>({ busy: true });
  useEffect(() => {
    const stop = new AbortController();
    const request = asked(language, expression, data);
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
