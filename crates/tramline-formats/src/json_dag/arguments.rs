//! The arguments of a task: references to other tasks' outputs, expressions, parameters.

use super::tasks::TaskIds;
use crate::reference::{
    OutputReference, ReferencePath, ReferenceStep, TextPart, concat_expression, parse_steps,
};
use crate::yaml_graph::arguments::{escaped, field_called_expr, report_expression_object};
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::workflow::Template;

/// The start of a reference.
pub(super) const REFERENCE_START: &str = "$OUTPUT[";

/// Flaws after which locations inside a string are no longer computed, to limit the cost.
const EXACT_LOCATIONS_MAX: usize = 100;

/// Reads arguments and records what they refer to.
pub(super) struct ArgumentReader<'i, 't, 'f> {
    ids: &'i TaskIds<'t>,
    flaws: &'f mut FlawCollector,
    /// The referenced tasks, with their locations.
    pub(super) references: Vec<(Str, Spanned<'t>)>,
    /// The referenced run parameters.
    pub(super) parameters: Vec<Str>,
}

impl<'i, 't, 'f> ArgumentReader<'i, 't, 'f> {
    pub(super) fn new(ids: &'i TaskIds<'t>, flaws: &'f mut FlawCollector) -> Self {
        Self {
            ids,
            flaws,
            references: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// The template for a value.
    pub(super) fn template(&mut self, at: Spanned<'t>) -> Template {
        match at.value {
            Value::String(text) if text.contains(REFERENCE_START) => self.text(text, at),
            Value::Object(_) => match self.special_object(at) {
                Some(template) => template,
                None => {
                    let fields: Vec<_> = at
                        .fields()
                        .map(|(key, field)| (key.clone(), self.template(field)))
                        .collect();
                    if fields.iter().all(|(_, field)| is_literal(field)) {
                        let plain = fields.into_iter().map(|(key, field)| (key, literal(field)));
                        return Template::Literal(Value::object(plain));
                    }
                    Template::Object(fields)
                }
            },
            Value::Array(_) => {
                let items: Vec<_> = at.items().map(|item| self.template(item)).collect();
                if items.iter().all(is_literal) {
                    return Template::Literal(Value::array(items.into_iter().map(literal)));
                }
                Template::Array(items)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Template::Literal(at.value.clone())
            }
        }
    }

    /// Objects with a special meaning: `expr`, literals, parameters and references.
    fn special_object(&mut self, at: Spanned<'t>) -> Option<Template> {
        let map = at.value.as_object()?;
        let text = |key: &str| at.value.get(key).and_then(Value::as_str);
        if map.len() == 1
            && let Some(source) = text("expr")
        {
            return Some(Template::Expr(source.into()));
        }
        if let Some(inner) = escaped(at.value) {
            return Some(Template::Literal(inner.clone()));
        }
        if let Some(named) = field_called_expr(at.value) {
            let fields = at.fields().map(|(key, field)| match key.as_str() {
                "expr" => (key.clone(), named.clone()),
                _ => (key.clone(), self.template(field)),
            });
            return Some(Template::Object(fields.collect()));
        }
        if let Some(expr) = at.get("expr") {
            report_expression_object(at, expr, map.len(), self.flaws);
            return Some(Template::Literal(at.value.clone()));
        }
        let only = |keys: &[&str]| map.keys().all(|key| keys.contains(&key.as_str()));
        match text("type")? {
            "literal" if only(&["type", "value"]) => {
                at.value.get("value").cloned().map(Template::Literal)
            }
            "parameter" if only(&["type", "name", "parameterName"]) => {
                let name = text("parameterName").or_else(|| text("name"))?;
                self.parameters.push(name.into());
                let path = ReferencePath::new(
                    self.ids.entry.clone(),
                    vec![ReferenceStep::Key(name.into())],
                );
                Some(Template::Expr(
                    OutputReference::certain(path).jsonata().into(),
                ))
            }
            "reference" if only(&["type", "expression", "task", "task_id", "taskId", "path"]) => {
                self.reference(at)
            }
            _ => None,
        }
    }

    /// `{type: "reference", …}`: a whole path in `expression`, or a task and a path from its output.
    fn reference(&mut self, at: Spanned<'t>) -> Option<Template> {
        let field = |key: &str| at.get(key).filter(|field| field.value.as_str().is_some());
        if let Some(field) = field("expression") {
            let text = field.value.as_str()?;
            if text.starts_with(REFERENCE_START) {
                return Some(self.text(text, field));
            }
            let end = text.find(['.', '[']).unwrap_or(text.len());
            return Some(self.reference_to(field, &text[..end], &text[end..]));
        }
        let task = ["task", "task_id", "taskId"].into_iter().find_map(field)?;
        let path = field("path").and_then(|path| path.value.as_str());
        let path = match path.unwrap_or_default() {
            "" => String::new(),
            path if path.starts_with(['.', '[']) => path.to_owned(),
            path => format!(".{path}"),
        };
        Some(self.reference_to(task, task.value.as_str()?, &path))
    }

    fn reference_to(&mut self, at: Spanned<'t>, id: &str, way: &str) -> Template {
        let (steps, length) = parse_steps(way);
        if length < way.len() {
            self.report_invalid(at, None);
        } else if self.ids.check(id, at, None, self.flaws) {
            self.references.push((id.into(), at));
        }
        let path = ReferencePath::new(id, steps);
        Template::Expr(OutputReference::certain(path).jsonata().into())
    }

    /// A string with references. A string that is only a reference keeps the type of its value.
    fn text(&mut self, text: &str, at: Spanned<'t>) -> Template {
        let mut pieces = Vec::new();
        let mut done = 0;
        while let Some(found) = text[done..].find(REFERENCE_START) {
            let begin = done + found;
            let inside = begin + REFERENCE_START.len();
            let Some(end) = text[inside..].find(']').map(|end| inside + end) else {
                self.report_invalid(at, Some(begin..text.len()));
                break;
            };
            let id = text[inside..end].trim().trim_matches(['"', '\'']);
            if self.ids.check(id, at, Some(inside..end), self.flaws) {
                self.references.push((id.into(), at));
            }
            let (steps, length) = parse_steps(&text[end + 1..]);
            if begin > done {
                pieces.push(TextPart::Text(text[done..begin].to_owned()));
            }
            pieces.push(TextPart::Reference(OutputReference::certain(
                ReferencePath::new(id, steps),
            )));
            done = end + 1 + length;
        }
        if done < text.len() {
            pieces.push(TextPart::Text(text[done..].to_owned()));
        }
        Template::Expr(match pieces.as_slice() {
            [TextPart::Reference(only)] => only.jsonata().into(),
            pieces => concat_expression(pieces).into(),
        })
    }

    fn report_invalid(&mut self, at: Spanned<'t>, bytes: Option<Range<usize>>) {
        let few = self.flaws.count() <= EXACT_LOCATIONS_MAX;
        let place = match bytes.filter(|_| few) {
            Some(bytes) => at.span_inside(&bytes),
            None => at.source_span(),
        };
        self.flaws.add(
            FlawCode::BadExpression,
            place,
            "invalid reference",
            "write `$OUTPUT[task]`, `$OUTPUT[task].key` or `$OUTPUT[task][0].key`",
        );
    }
}

fn is_literal(template: &Template) -> bool {
    match template {
        Template::Literal(_) => true,
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => false,
    }
}

/// The value of a literal template.
fn literal(template: Template) -> Value {
    match template {
        Template::Literal(value) => value,
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => Value::Null,
    }
}
