// The call of a question: its description, its diff, and edits of its arguments.
import { expect, test } from "vitest";
import type { ProposedCall } from "../src/api/types";
import { answerWords } from "../src/inbox/answer";
import { badges, diffLines, parseArguments, editText, describeFileChange } from "../src/inbox/call-format";

const call: ProposedCall = {
  tool: "shop:refund",
  server: "shop",
  name: "refund",
  arguments: { amount: 5, auth: { key: "${settings.KEY}" } },
  annotations: { destructiveHint: true, readOnlyHint: false },
  editable: true,
  fixed: ["/auth/key"],
};

test("annotations are words, and missing ones warn", () => {
  expect(badges(call).map((badge) => badge.word)).toEqual(["destructive", "changes something"]);
  expect(badges({ ...call, annotations: undefined })[0]).toMatchObject({ word: "effects unknown", warns: true });
  expect(badges({ ...call, annotations: {} })[0]).toMatchObject({ word: "no annotations", warns: true });
});

test("a unified diff is split into lines", () => {
  expect(diffLines("@@ -1,2 +1,2 @@\n same\n-old\n+new\n")).toEqual([
    { kind: "place", text: "@@ -1,2 +1,2 @@" },
    { kind: "same", text: "same" },
    { kind: "gone", text: "old" },
    { kind: "new", text: "new" },
  ]);
  expect(describeFileChange({ path: "b.txt", change: "move", from: "a.txt" })).toBe("moves a.txt to b.txt");
  expect(describeFileChange({ path: "b.txt", change: "replace" })).toBe("replaces b.txt");
});

test("arguments are edited as JSON, and secrets cannot be edited", () => {
  expect(parseArguments(editText(call), call)).toEqual({ arguments: call.arguments });
  expect(parseArguments('{"amount": 6, "auth": {"key": "${settings.KEY}"}}', call)).toEqual({ arguments: { amount: 6, auth: { key: "${settings.KEY}" } } });
  expect(parseArguments('{"amount": 6, "auth": {"key": "mine"}}', call)).toEqual({ wrong: "/auth/key contains a secret and cannot be edited" });
  expect(parseArguments('{"amount": 6}', call)).toHaveProperty("wrong");
  expect(parseArguments("[1]", call)).toHaveProperty("wrong");
  expect(parseArguments("{", call)).toHaveProperty("wrong");
});

test("proceeding with a call is an approval, after a layer it is not", () => {
  expect(answerWords("proceed", { checkpoint_id: "c", options: [], kind: "approval" }).word).toBe("Approve");
  expect(answerWords("proceed", { checkpoint_id: "c", options: [], kind: "layer" }).word).toBe("Proceed");
  expect(answerWords("reject", { checkpoint_id: "c", options: [], kind: "approval" }).word).toBe("Reject");
});
