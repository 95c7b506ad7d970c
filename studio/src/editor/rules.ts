// JSON Logic rules as rows of a form, and in words. Pure.
import type { Json } from "../api/types";

export type Operator = "==" | "!=" | ">" | ">=" | "<" | "<=" | "in" | "!!" | "!";
export type Comparison = { path: string; operator: Operator; value: Json };
/** Comparisons that must all hold, or of which one must. */
export type RuleForm = { join: "and" | "or"; parts: Comparison[] };

export const OPERATORS: { operator: Operator; words: string; /** Whether it compares with a value. */ takes: boolean }[] = [
  { operator: "==", words: "is", takes: true },
  { operator: "!=", words: "is not", takes: true },
  { operator: ">", words: "is more than", takes: true },
  { operator: ">=", words: "is at least", takes: true },
  { operator: "<", words: "is less than", takes: true },
  { operator: "<=", words: "is at most", takes: true },
  { operator: "in", words: "is one of", takes: true },
  { operator: "!!", words: "is set", takes: false },
  { operator: "!", words: "is not set", takes: false },
];

const TAKING = new Map(OPERATORS.map(({ operator, words, takes }) => [operator as string, { words, takes }]));
/** Strict comparisons are shown like the others, and written as they were. */
const isObject = (given: Json | undefined): given is { [key: string]: Json } => typeof given === "object" && given !== null && !Array.isArray(given);

function only(rule: Json): [string, Json[]] | undefined {
  if (!isObject(rule)) return undefined;
  const [first, ...rest] = Object.entries(rule);
  if (!first || rest.length > 0) return undefined;
  return [first[0], Array.isArray(first[1]) ? first[1] : [first[1]]];
}

/** The path of `{"var": path}`. */
function pathOf(given: Json | undefined): string | undefined {
  const found = given === undefined ? undefined : only(given);
  return found?.[0] === "var" && found[1].length === 1 && typeof found[1][0] === "string" ? found[1][0] : undefined;
}

function comparison(rule: Json): Comparison | undefined {
  const [name, given] = only(rule) ?? [];
  const known = name === undefined ? undefined : TAKING.get(name);
  if (!known || !given) return undefined;
  const path = pathOf(given[0]);
  if (path === undefined || given.length !== (known.takes ? 2 : 1)) return undefined;
  const value = given[1] ?? null;
  // A value that is computed needs the text.
  if (isObject(value) && pathOf(value) === undefined) return undefined;
  return { path, operator: name as Operator, value };
}

/** The form of a rule; undefined if it says more than the form can show. */
export function ruleForm(rule: Json): RuleForm | undefined {
  const [name, given] = only(rule) ?? [];
  const isJoined = name === "and" || name === "or";
  const parts = (isJoined ? (given ?? []) : [rule]).map(comparison);
  if (parts.length === 0 || parts.some((part) => part === undefined)) return undefined;
  return { join: isJoined ? name : "and", parts: parts as Comparison[] };
}

/** The rule of a form. */
export function ruleOf({ join, parts }: RuleForm): Json {
  const all = parts.map(({ path, operator, value }): Json => ({ [operator]: TAKING.get(operator)?.takes ? [{ var: path }, value] : [{ var: path }] }));
  return all.length === 1 ? all[0]! : { [join]: all };
}

/** A value in words; a reference is named without signs. */
function valueWords(value: Json): string {
  return pathOf(value) ?? (Array.isArray(value) ? value.map(valueWords).join(", ") : typeof value === "string" ? `“${value}”` : JSON.stringify(value));
}

/** The rule as a sentence, or its text if it cannot be put in words. */
export function ruleWords(rule: Json): string {
  if (typeof rule === "string") return rule;
  const form = ruleForm(rule);
  if (!form) return JSON.stringify(rule);
  return form.parts.map(({ path, operator, value }) => [path || "…", TAKING.get(operator)!.words, ...(TAKING.get(operator)!.takes ? [valueWords(value)] : [])].join(" ")).join(` ${form.join} `);
}

/** A value as it is typed: text, JSON, or `{node.field}` for the value of a node. */
export function typedValue(text: string, operator: Operator): Json {
  const path = /^\{([\w.$-]+)\}$/.exec(text.trim())?.[1];
  if (path) return { var: path };
  if (operator === "in" && !text.trim().startsWith("[")) return text.split(",").map((part) => scalar(part.trim()));
  return scalar(text.trim());
}

function scalar(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** A value for its field; what was typed is parsed to the same value. */
export function shownValue(value: Json): string {
  const path = pathOf(value);
  if (path !== undefined) return `{${path}}`;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" && !String(one).includes(",") )) return value.map((one) => (typeof one === "string" ? shownText(one) : JSON.stringify(one))).join(", ");
  return typeof value === "string" ? shownText(value) : JSON.stringify(value);
}

/** Text that would be read as something else is quoted. */
function shownText(text: string): string {
  return scalar(text.trim()) === text && typedPath(text) === undefined ? text : JSON.stringify(text);
}

function typedPath(text: string): string | undefined {
  return /^\{([\w.$-]+)\}$/.exec(text.trim())?.[1];
}
