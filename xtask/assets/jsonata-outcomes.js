// Reads one `{"expr": .., "input": ..}` per line and prints the outcome of the npm package
// `jsonata` for each: `{"value": ..}`, `{}` for no value, `{"code": ..}` for an error of its own,
// `{"thrown": ..}` for a JavaScript error, `{"gave_up": true}` when it takes too long. Each answer
// is written before the next case starts. The argument is the number of lines to skip.
const jsonata = require("jsonata");
const fs = require("fs");
const skip = Number(process.argv[2] || 0);
const lines = fs.readFileSync(0, "utf8").trim().split("\n").slice(skip);

const MILLIS_MAX = 2000;
const DEPTH_MAX = 500;

// Functions inside a value are shown as empty text, by JSON.stringify's replacer.
const isFunction = (value) =>
  typeof value === "function" ||
  (value && (value._jsonata_function || value._jsonata_lambda));

// Half of a surrogate pair is not valid text elsewhere: it is shown as the replacement character.
function readable(part) {
  if (isFunction(part)) return "";
  return typeof part === "string" ? part.toWellFormed() : part;
}

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
    const text = JSON.stringify(value, (_, part) => readable(part));
    return text === undefined ? "{}" : `{"value":${text}}`;
  } catch (error) {
    if (error.gaveUp) return '{"gave_up":true}';
    if (error.code) return JSON.stringify({ code: error.code });
    return JSON.stringify({ thrown: String(error.message) });
  }
}

// A pipe may accept only a part, or nothing at the moment.
function write(text) {
  let bytes = Buffer.from(text + "\n");
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(fs.writeSync(1, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

(async () => {
  for (const line of lines) write(await outcome(JSON.parse(line)));
})();
