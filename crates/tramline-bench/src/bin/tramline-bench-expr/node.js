// Reads shapes, rules and their data from standard input; prints the value of each and its
// nanoseconds, as the best of many short rounds. A rule that is null is not measured.
const jsonata = require("jsonata");
const logic = require("json-logic-js");
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));

const WARMED_NS = 100e6;
const MEASURED_NS = 400e6;
const ROUND_NS = 1e6;
const now = () => Number(process.hrtime.bigint());

async function time(run) {
  let runs = 0;
  const warming = now();
  while (now() - warming < WARMED_NS) {
    await run();
    runs += 1;
  }
  const round = Math.max(1, Math.ceil((runs * ROUND_NS) / WARMED_NS));
  let best = Infinity;
  const started = now();
  while (now() - started < MEASURED_NS) {
    const begun = now();
    for (let n = 0; n < round; n += 1) await run();
    best = Math.min(best, (now() - begun) / round);
  }
  return best;
}

// Without `await`, so that synchronous calls do not pay for it.
function timeNow(run) {
  let best = Infinity;
  const started = now();
  while (now() - started < MEASURED_NS) {
    const begun = now();
    for (let n = 0; n < 1000; n += 1) run();
    best = Math.min(best, (now() - begun) / 1000);
  }
  return best;
}

(async () => {
  const shapes = [];
  const values = [];
  for (const { source, large } of asked.shapes) {
    const expression = jsonata(source);
    const input = large ? asked.large : asked.small;
    values.push(await expression.evaluate(input));
    shapes.push(await time(() => expression.evaluate(input)));
  }
  const rules = [];
  const truths = [];
  for (const rule of asked.rules) {
    truths.push(rule === null ? null : logic.truthy(logic.apply(rule, asked.order)));
    rules.push(rule === null ? null : timeNow(() => logic.apply(rule, asked.order)));
  }
  process.stdout.write(JSON.stringify({ shapes, values, rules, truths }));
})();
