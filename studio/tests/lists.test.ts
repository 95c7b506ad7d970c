// The filter of the list of runs, and the answers to a question.
import { expect, test } from "vitest";
import { draft, answerRequest } from "../src/inbox/answer";
import { askedForm, initialContent } from "../src/inbox/form";
import { filterOf, isFiltered, queryOf, searchOf } from "../src/runs/filter";

test("a filter is written to the URL and read from it", () => {
  const search = "?status=paused%2Cfailed&workflow=a+b&text=x&since=2030-01-31&after=run_9";
  const filter = filterOf(search);
  expect(filter.status).toEqual(["paused", "failed"]);
  expect(filter.workflow).toBe("a b");
  expect(searchOf(filter)).toBe(search);
  expect(filterOf("?status=odd&since=yesterday")).toMatchObject({ status: ["odd"], since: "" });
  // An unknown status is sent, so that the server rejects it instead of the page ignoring it.
  expect(queryOf(filterOf("?status=odd"))["status"]).toBe("odd");
  expect(isFiltered(filterOf("?after=run_9"))).toBe(false);
});

test("both days are included in the request", () => {
  const query = queryOf(filterOf("?since=2030-01-31&until=2030-01-31"));
  expect(query["since_ms"]).toBe(new Date(2030, 0, 31).getTime());
  expect(query["until_ms"]).toBe(new Date(2030, 1, 1).getTime() - 1);
});

test("an answer carries what belongs to it and nothing else", () => {
  const asked = { checkpoint_id: "chk_1", options: ["extend", "reject"], spent: "calls", used: 12, limit: 10 };
  const begun = draft(asked);
  expect(answerRequest("extend", begun)).toEqual({ answer: "extend", budget: { calls: 12 } });
  expect(answerRequest("reject", { ...begun, why: " no " })).toEqual({ answer: "reject", why: "no" });
  expect(answerRequest("extend", { ...begun, budget: { calls: "many" } })).toEqual({ wrong: "calls must be an integer above 0" });
  expect(answerRequest("skip", { ...begun, output: '{"a": 1}' })).toEqual({ answer: "skip", output: { a: 1 } });
  expect(answerRequest("skip", { ...begun, output: "{" })).toHaveProperty("wrong");
});

test("a form begins with its defaults", () => {
  const schema = { type: "object", properties: { name: { type: "string" }, size: { type: "string", enum: ["s", "l"], default: "s" } } };
  const asked = { checkpoint_id: "chk_1", options: ["submit"], form: { message: "m", schema, defaults: { name: "Ada" } } };
  expect(initialContent(asked)).toEqual({ size: "s", name: "Ada" });
  expect(askedForm({ checkpoint_id: "chk_1", options: ["proceed"] })).toBeUndefined();
});
