// Reads `{"expr": .., "input": ..}` one per line and prints how the npm package `jsonata` ends
// each: `{"value": ..}`, `{}` for no value, `{"code": ..}` for an error of its own,
// `{"thrown": ..}` for one of JavaScript, `{"gave_up": true}` when it takes too long.
const jsonata = require("jsonata");
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");

const MILLIS_MAX = 2000;
const DEPTH_MAX = 500;

// Functions inside a value are shown as the empty text, by JSON.stringify's replacer.
const isFunction = (value) =>
  typeof value === "function" ||
  (value && (value._jsonata_function || value._jsonata_lambda));

async function outcome({ expr, input }) {
  const started = Date.now();
  let depth = 0;
  try {
    const expression = jsonata(expr);
    expression.assign("__evaluate_entry", () => {
      depth += 1;
      if (depth > DEPTH_MAX || Date.now() - started > MILLIS_MAX) throw { gaveUp: true };
    });
    expression.assign("__evaluate_exit", () => {
      depth -= 1;
    });
    const value = await expression.evaluate(input);
    const text = JSON.stringify(value, (_, part) => (isFunction(part) ? "" : part));
    return text === undefined ? "{}" : `{"value":${text}}`;
  } catch (error) {
    if (error.gaveUp) return '{"gave_up":true}';
    if (error.code) return JSON.stringify({ code: error.code });
    return JSON.stringify({ thrown: String(error.message) });
  }
}

(async () => {
  const answers = [];
  for (const line of lines) answers.push(await outcome(JSON.parse(line)));
  process.stdout.write(answers.join("\n") + "\n");
})();
