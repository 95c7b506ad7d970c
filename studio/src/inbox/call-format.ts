// The call of a question: how it is shown, and how its arguments are edited. Pure.
import type { Json, ProposedCall } from "../api/types";

export type Badge = { word: string; means: string; warns?: boolean };

const HINTS: { hint: string; yes: Badge; no: Badge }[] = [
  {
    hint: "destructiveHint",
    yes: { word: "destructive", means: "It may delete or overwrite data.", warns: true },
    no: { word: "not destructive", means: "It only adds data." },
  },
  {
    hint: "readOnlyHint",
    yes: { word: "read-only", means: "It changes nothing." },
    no: { word: "changes something", means: "It is not read-only." },
  },
  {
    hint: "idempotentHint",
    yes: { word: "repeatable", means: "Calling it again with the same arguments changes nothing more." },
    no: { word: "not repeatable", means: "Calling it again has a further effect." },
  },
  {
    hint: "openWorldHint",
    yes: { word: "reaches outside", means: "It interacts with systems outside its server." },
    no: { word: "stays inside", means: "It only uses its own data." },
  },
];

/** The server's annotations of the tool, in words; missing ones are mentioned too. */
export function badges(call: Pick<ProposedCall, "annotations">): Badge[] {
  const said = call.annotations;
  if (!said) return [{ word: "effects unknown", means: "The server could not be queried.", warns: true }];
  const known = HINTS.flatMap(({ hint, yes, no }) => (said[hint] === undefined ? [] : [said[hint] ? yes : no]));
  return known.length ? known : [{ word: "no annotations", means: "The server does not annotate this tool.", warns: true }];
}

export type DiffLine = { kind: "same" | "gone" | "new" | "place"; text: string };

/** The lines of a unified diff. */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/\n$/, "").split("\n");
  return lines.map((line) => {
    if (line.startsWith("@@") || line.startsWith("\\")) return { kind: "place", text: line };
    const kind = line.startsWith("-") ? "gone" : line.startsWith("+") ? "new" : "same";
    return { kind, text: line.slice(1) };
  });
}

const CHANGES: { [change: string]: string } = {
  create: "creates",
  replace: "replaces",
  delete: "deletes",
  unchanged: "leaves unchanged:",
};

/** The effect on a file, in words. */
export function describeFileChange(file: NonNullable<ProposedCall["file"]>): string {
  if (file.change === "move") return `moves ${file.from ?? "a file"} to ${file.path}`;
  if (file.change === "copy") return `copies ${file.from ?? "a file"} to ${file.path}`;
  return `${CHANGES[file.change] ?? file.change} ${file.path}`;
}

/** The arguments as editable text. */
export function editText(call: ProposedCall): string {
  return JSON.stringify(call.arguments ?? {}, null, 2);
}

/** The edited arguments, or what is wrong with them. Fields with a secret cannot change. */
export function parseArguments(text: string, call: ProposedCall): { arguments: Json } | { wrong: string } {
  let typed: Json;
  try {
    typed = JSON.parse(text) as Json;
  } catch (caught) {
    return { wrong: `the arguments are not JSON: ${(caught as Error).message}` };
  }
  if (typed === null || typeof typed !== "object" || Array.isArray(typed)) return { wrong: "the arguments must be a JSON object" };
  const changed = call.fixed?.find((place) => JSON.stringify(valueAt(typed, place)) !== JSON.stringify(valueAt(call.arguments, place)));
  if (changed !== undefined) return { wrong: `${changed} contains a secret and cannot be edited` };
  return { arguments: typed };
}

/** The value at a JSON pointer. */
function valueAt(value: Json | undefined, place: string): Json | undefined {
  const keys = place.split("/").slice(1).map((key) => key.replace(/~1/g, "/").replace(/~0/g, "~"));
  return keys.reduce<Json | undefined>((within, key) => (within !== null && typeof within === "object" ? (within as { [key: string]: Json })[key] : undefined), value);
}
