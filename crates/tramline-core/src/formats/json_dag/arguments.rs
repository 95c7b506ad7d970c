//! The arguments of a task: references to what other tasks gave, expressions, parameters.

use super::tasks::Ids;
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::reference::{Path, Piece, Reference, Step, joined, steps};
use crate::workflow::Template;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// What begins a reference.
pub(super) const SIGN: &str = "$OUTPUT[";

/// Past this many flaws the place is that of the whole text: the exact one costs too much.
const EXACT_MAX: usize = 100;

/// Reads arguments, noting what they refer to.
pub(super) struct Reader<'i, 't, 'f> {
    ids: &'i Ids<'t>,
    flaws: &'f mut Flaws,
    /// The tasks referred to, and where.
    pub(super) references: Vec<(Str, At<'t>)>,
    /// The parameters of the run referred to.
    pub(super) parameters: Vec<Str>,
}

impl<'i, 't, 'f> Reader<'i, 't, 'f> {
    pub(super) fn new(ids: &'i Ids<'t>, flaws: &'f mut Flaws) -> Self {
        Self {
            ids,
            flaws,
            references: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// The template that stands at a place.
    pub(super) fn template(&mut self, at: At<'t>) -> Template {
        match at.value {
            Value::String(text) if text.contains(SIGN) => self.text(text, at),
            Value::Object(_) => match self.special(at) {
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

    /// Objects that are not meant as they stand.
    fn special(&mut self, at: At<'t>) -> Option<Template> {
        let map = at.value.as_object()?;
        let text = |key: &str| at.value.get(key).and_then(Value::as_str);
        if map.len() == 1
            && let Some(source) = text("expr")
        {
            return Some(Template::Expr(source.into()));
        }
        let only = |keys: &[&str]| map.keys().all(|key| keys.contains(&key.as_str()));
        match text("type")? {
            "literal" if only(&["type", "value"]) => {
                at.value.get("value").cloned().map(Template::Literal)
            }
            "parameter" if only(&["type", "name", "parameterName"]) => {
                let name = text("parameterName").or_else(|| text("name"))?;
                self.parameters.push(name.into());
                let path = Path::new(self.ids.entry.clone(), vec![Step::Key(name.into())]);
                Some(Template::Expr(Reference::sure(path).jsonata().into()))
            }
            "reference" if only(&["type", "expression", "task", "task_id", "taskId", "path"]) => {
                self.reference(at)
            }
            _ => None,
        }
    }

    /// `{type: "reference", …}`: the whole way as one text, or the task and the way from there.
    fn reference(&mut self, at: At<'t>) -> Option<Template> {
        let field = |key: &str| at.get(key).filter(|field| field.value.as_str().is_some());
        if let Some(field) = field("expression") {
            let text = field.value.as_str()?;
            if text.starts_with(SIGN) {
                return Some(self.text(text, field));
            }
            let end = text.find(['.', '[']).unwrap_or(text.len());
            return Some(self.referred(field, &text[..end], &text[end..]));
        }
        let task = ["task", "task_id", "taskId"].into_iter().find_map(field)?;
        let path = field("path").and_then(|path| path.value.as_str());
        let path = match path.unwrap_or_default() {
            "" => String::new(),
            path if path.starts_with(['.', '[']) => path.to_owned(),
            path => format!(".{path}"),
        };
        Some(self.referred(task, task.value.as_str()?, &path))
    }

    fn referred(&mut self, at: At<'t>, id: &str, way: &str) -> Template {
        let (steps, length) = steps(way);
        if length < way.len() {
            self.bad(at, None);
        } else if self.ids.check(id, at, None, self.flaws) {
            self.references.push((id.into(), at));
        }
        let path = Path::new(id, steps);
        Template::Expr(Reference::sure(path).jsonata().into())
    }

    /// A text with references in it. One that is nothing but a reference keeps its type.
    fn text(&mut self, text: &str, at: At<'t>) -> Template {
        let mut pieces = Vec::new();
        let mut done = 0;
        while let Some(found) = text[done..].find(SIGN) {
            let begin = done + found;
            let inside = begin + SIGN.len();
            let Some(end) = text[inside..].find(']').map(|end| inside + end) else {
                self.bad(at, Some(begin..text.len()));
                break;
            };
            let id = text[inside..end].trim().trim_matches(['"', '\'']);
            if self.ids.check(id, at, Some(inside..end), self.flaws) {
                self.references.push((id.into(), at));
            }
            let (steps, length) = steps(&text[end + 1..]);
            if begin > done {
                pieces.push(Piece::Text(text[done..begin].to_owned()));
            }
            pieces.push(Piece::Reference(Reference::sure(Path::new(id, steps))));
            done = end + 1 + length;
        }
        if done < text.len() {
            pieces.push(Piece::Text(text[done..].to_owned()));
        }
        Template::Expr(match pieces.as_slice() {
            [Piece::Reference(only)] => only.jsonata().into(),
            pieces => joined(pieces).into(),
        })
    }

    fn bad(&mut self, at: At<'t>, bytes: Option<Range<usize>>) {
        let few = self.flaws.count() <= EXACT_MAX;
        let place = match bytes.filter(|_| few) {
            Some(bytes) => at.inside(&bytes),
            None => at.place(),
        };
        self.flaws.add(
            Code::BadExpression,
            place,
            "this reference cannot be read",
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

/// The value of a template that is one.
fn literal(template: Template) -> Value {
    match template {
        Template::Literal(value) => value,
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => Value::Null,
    }
}
