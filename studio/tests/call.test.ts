// The call that a question is about: its words, its difference, and edits of its arguments.
import { expect, test } from "vitest";
import type { ProposedCall } from "../src/api/types";
import { words } from "../src/inbox/answer";
import { badges, diffLines, edited, editText, fileWords } from "../src/inbox/call";

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
  expect(badges({ ...call, annotations: undefined })[0]).toMatchObject({ word: "effects not known", warns: true });
  expect(badges({ ...call, annotations: {} })[0]).toMatchObject({ word: "no annotations", warns: true });
});

test("a unified difference is told line by line", () => {
  expect(diffLines("@@ -1,2 +1,2 @@\n same\n-old\n+new\n")).toEqual([
    { kind: "place", text: "@@ -1,2 +1,2 @@" },
    { kind: "same", text: "same" },
    { kind: "gone", text: "old" },
    { kind: "new", text: "new" },
  ]);
  expect(fileWords({ path: "b.txt", change: "move", from: "a.txt" })).toBe("moves a.txt to b.txt");
  expect(fileWords({ path: "b.txt", change: "replace" })).toBe("replaces b.txt");
});

test("arguments are edited as JSON, and what holds a secret is not", () => {
  expect(edited(editText(call), call)).toEqual({ arguments: call.arguments });
  expect(edited('{"amount": 6, "auth": {"key": "${settings.KEY}"}}', call)).toEqual({ arguments: { amount: 6, auth: { key: "${settings.KEY}" } } });
  expect(edited('{"amount": 6, "auth": {"key": "mine"}}', call)).toEqual({ wrong: "/auth/key holds a secret and cannot be edited" });
  expect(edited('{"amount": 6}', call)).toHaveProperty("wrong");
  expect(edited("[1]", call)).toHaveProperty("wrong");
  expect(edited("{", call)).toHaveProperty("wrong");
});

test("a yes to a call is an approval, one after a layer is not", () => {
  expect(words("proceed", { checkpoint_id: "c", options: [], kind: "approval" }).word).toBe("Approve");
  expect(words("proceed", { checkpoint_id: "c", options: [], kind: "layer" }).word).toBe("Proceed");
  expect(words("reject", { checkpoint_id: "c", options: [], kind: "approval" }).word).toBe("Reject");
});
