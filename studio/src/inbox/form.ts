// The form that a run asks, as data. Pure.
import type { Json, Question, Schema } from "../api/types";
import { initialValue } from "../form/value";

type Asked = { schema: Schema; defaults?: { [field: string]: Json } };

/** The form that a question asks, if it is one. */
export function askedForm(question: Question): Asked | undefined {
  const form = question["form"];
  if (typeof form !== "object" || form === null || Array.isArray(form)) return undefined;
  const schema = form["schema"];
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return undefined;
  const defaults = form["defaults"];
  const given = typeof defaults === "object" && defaults !== null && !Array.isArray(defaults);
  return given ? { schema: schema as Schema, defaults: defaults as { [field: string]: Json } } : { schema: schema as Schema };
}

/** The values with which a form begins. */
export function initialContent(question: Question): Json {
  const form = askedForm(question);
  if (!form) return {};
  const begun = initialValue(form.schema, form.schema);
  const own = typeof begun === "object" && begun !== null && !Array.isArray(begun) ? begun : {};
  return { ...own, ...form.defaults };
}
