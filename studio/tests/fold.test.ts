// How events change the state of a run.
import { expect, test } from "vitest";
import type { RunEvent } from "../src/api/types";
import { fold, initialState } from "../src/run/fold";
import { edge, graph, node } from "./graphs";

const flow = graph(
  [node("entry", "entry"), node("check", "choose"), node("send"), node("mend"), node("exit", "exit")],
  [
    edge("entry", "check"),
    edge("check", "send", { label: "yes", kind: "labelled" }),
    edge("check", "exit"),
    edge("send", "exit"),
    edge("send", "mend", { kind: "error" }),
  ],
);

let seq = 0;
const event = (name: string, more: Partial<RunEvent> = {}): RunEvent => ({ seq: ++seq, at_ms: seq, event: name, ...more });

test("a run that takes a branch, retries and fails", () => {
  seq = 0;
  let now = fold(initialState, [event("Started", { status: "running" }), event("StepFinished", { step: 1, node: "entry" })], flow);
  expect(now.nodes["entry"]).toEqual({ status: "succeeded", visits: 1 });
  expect([...now.taken]).toEqual(["entry>check"]);

  now = fold(now, [event("StepFinished", { step: 2, node: "check", label: "yes" }), event("StepStarted", { step: 3, node: "send", attempt: 1 })], flow);
  expect(now.taken.has("check>send")).toBe(true);
  expect(now.taken.has("check>exit")).toBe(false);
  expect(now.nodes["send"]!.status).toBe("running");

  // This event names only the step.
  now = fold(now, [event("AttemptFailed", { step: 3 })], flow);
  expect(now.nodes["send"]).toEqual({ status: "retrying", visits: 1 });
  now = fold(now, [event("StepStarted", { step: 3, node: "send", attempt: 2 }), event("StepFailed", { step: 3, node: "send" })], flow);
  expect(now.nodes["send"]).toEqual({ status: "failed", visits: 1 });
  expect(now.taken.has("send>mend")).toBe(true);
  expect(now.taken.has("send>exit")).toBe(false);

  now = fold(now, [event("Finished", { status: "failed" })], flow);
  expect(now.status).toBe("failed");
});

test("the run's status comes from its own events, not from a node", () => {
  seq = 0;
  const now = fold(initialState, [event("started"), event("step_failed", { step: 1, node: "send", status: "failed" })], flow);
  expect(now.status).toBe("running");
  expect(fold(now, [event("paused", { node: "check", status: "waiting" })], flow).status).toBe("paused");
});

test("an item's end is not the end of its step, and an unknown edge is fetched", () => {
  seq = 0;
  let now = fold(initialState, [event("spread", { step: 1, node: "send" }), event("step_finished", { step: 2, node: "send", item: 0 })], flow);
  expect(now.nodes["send"]).toEqual({ status: "running", visits: 1 });
  expect(now.unsure).toBeUndefined();
  now = fold(now, [event("step_finished", { step: 3, node: "check", label: "rule 7" })], flow);
  expect(now.unsure).toBe(true);
});

test("events that were seen change nothing", () => {
  seq = 0;
  const first = event("StepFinished", { step: 1, node: "entry" });
  const now = fold(initialState, [first], flow);
  expect(fold(now, [first], flow)).toBe(now);
});

test("a second visit counts, and spelling of names does not matter", () => {
  seq = 0;
  const now = fold(
    initialState,
    [event("step_started", { step: 1, node: "send" }), event("step_finished", { step: 1, node: "send" }), event("step_started", { step: 2, node: "send" })],
    flow,
  );
  expect(now.nodes["send"]).toEqual({ status: "running", visits: 2 });
});
