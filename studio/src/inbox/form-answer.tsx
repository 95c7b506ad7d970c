// The fields of a form that a run asks, filled in with the same inputs as a workflow's start.
import type { Json, Question } from "../api/types";
import { SchemaForm } from "../form/schema-form";
import { askedForm } from "./form";

export function FormAnswer({ question, value, onChange }: { question: Question; value: Json; onChange: (value: Json) => void }) {
  const form = askedForm(question);
  if (!form) return null;
  return <SchemaForm schema={form.schema} value={value} onChange={(value) => onChange(value ?? {})} name="Answer" />;
}
