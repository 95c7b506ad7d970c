// Expressions tried out, evaluated by the server.
import { useState } from "react";
import { api } from "../api/client";
import type { Evaluated, Json } from "../api/types";
import { Trouble } from "../shell/load";
import { Tree } from "../value/tree";

export default function Playground() {
  const [expression, setExpression] = useState("$sum(numbers)");
  const [data, setData] = useState('{"numbers": [1, 2, 3]}');
  const [result, setResult] = useState<Evaluated>();
  const [wrong, setWrong] = useState<Error>();
  const evaluate = () => {
    setWrong(undefined);
    Promise.resolve()
      .then(() => api.evaluate({ language: "jsonata", expression, data: JSON.parse(data) as Json }))
      .then(setResult, setWrong);
  };
  return (
    <section className="page">
      <h1>Playground</h1>
      <div className="form">
        <label>
          JSONata
          <textarea rows={4} value={expression} onChange={(event) => setExpression(event.target.value)} spellCheck={false} />
        </label>
        <label>
          Data
          <textarea rows={8} value={data} onChange={(event) => setData(event.target.value)} spellCheck={false} />
        </label>
        <button type="button" className="go" onClick={evaluate}>
          Evaluate
        </button>
        {wrong && <Trouble wrong={wrong} />}
        {result?.error && <p role="alert">{result.error.message}</p>}
        {result && !result.error && <Tree value={result.value} label="Result" />}
      </div>
    </section>
  );
}
