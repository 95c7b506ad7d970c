//! `${…}`: references inside values, checked against the nodes and inputs there are.

use super::names::{Locals, Names, below};
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::reference::{Operand, Path, Piece, Reference, joined, steps};
use crate::settings;
use crate::text::{nearest, shown};
use crate::workflow::Template;
use std::ops::Range;
use tramline_expr::{Str, Value};

/// What begins a reference; with another `$` before it, it is just text.
pub(super) const SIGN: &str = "${";

/// What the place of an item is called.
pub(super) const INDEX: &str = "__index__";

/// Past this many flaws nobody is told which name was meant, or where in a text it stands: looking
/// for it costs too much.
const EXACT_MAX: usize = 100;

/// Reads values with references in them.
pub(super) struct Reader<'n, 't, 'f> {
    pub(super) names: &'n Names<'t>,
    /// What the item of a batch is called, where there is one.
    pub(super) item: Option<&'n str>,
    /// The node's own inputs.
    pub(super) locals: Option<&'n Locals>,
    pub(super) flaws: &'f mut Flaws,
}

impl<'n, 't, 'f> Reader<'n, 't, 'f> {
    /// A reader of values outside of a batch, which sees nodes and inputs.
    pub(super) fn new(names: &'n Names<'t>, flaws: &'f mut Flaws) -> Self {
        Self {
            names,
            item: None,
            locals: None,
            flaws,
        }
    }

    /// The template that stands at a place.
    pub(super) fn template(&mut self, at: At<'t>) -> Template {
        match at.value {
            Value::String(text) if text.contains(SIGN) => self.text(text, at),
            Value::Object(_) => {
                let fields = at.fields().map(|(key, field)| (key.clone(), field));
                let fields: Vec<_> = fields.collect();
                self.object(fields)
            }
            Value::Array(_) => {
                let items: Vec<_> = at.items().map(|item| self.template(item)).collect();
                match items.iter().map(plain).collect::<Option<Vec<_>>>() {
                    Some(plain) => Template::Literal(Value::array(plain)),
                    None => Template::Array(items),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Template::Literal(at.value.clone())
            }
        }
    }

    /// The template of an object with these fields.
    pub(super) fn object(&mut self, fields: Vec<(Str, At<'t>)>) -> Template {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(key, field)| (key, self.template(field)))
            .collect();
        let plain = fields
            .iter()
            .map(|(key, field)| Some((key.clone(), plain(field)?)));
        match plain.collect::<Option<Vec<_>>>() {
            Some(plain) => Template::Literal(Value::object(plain)),
            None => Template::Object(fields),
        }
    }

    /// A text with references in it. One that is nothing but a reference keeps its type.
    fn text(&mut self, text: &str, at: At<'t>) -> Template {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut done = 0;
        while let Some(found) = text[done..].find(SIGN) {
            let begin = done + found;
            plain.push_str(&text[done..begin]);
            let inside = begin + SIGN.len();
            if plain.ends_with('$') && begin > done {
                // The sign that says it is text goes, the rest stays.
                plain.pop();
                plain.push_str(SIGN);
                done = inside;
                if settings::begins(&text[begin..]) {
                    // Two pieces, so that together they name no setting.
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                continue;
            }
            if let Some(end) = self.setting(&text[begin..]) {
                plain.push_str(&text[begin..begin + end]);
                done = begin + end;
                continue;
            }
            let Some(end) = closing(&text[inside..]).map(|end| inside + end) else {
                self.bad(at, begin..text.len(), "this `${` is never closed");
                return Template::Literal(at.value.clone());
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            if let Some(reference) = self.reference(&text[inside..end], at, inside) {
                pieces.push(Piece::Reference(reference));
            }
            done = end + 1;
        }
        plain.push_str(&text[done..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        match pieces.as_slice() {
            [] => Template::Literal("".into()),
            [Piece::Text(only)] => Template::Literal(only.as_str().into()),
            [Piece::Reference(only)] => Template::Expr(only.jsonata().into()),
            pieces => Template::Expr(joined(pieces).into()),
        }
    }

    /// Where the name of a setting ends that a text begins with. A node or an input of that name
    /// comes first.
    fn setting(&self, text: &str) -> Option<usize> {
        let (at, _) = settings::references(text).next()?;
        let taken = self.names.is_node("settings")
            || self.item == Some("settings")
            || self
                .names
                .inputs
                .iter()
                .any(|input| input.name == "settings");
        (at.start == 0 && !taken).then_some(at.end)
    }

    /// What stands between `${` and `}`: names with their ways, and what to take instead.
    fn reference(&mut self, inside: &str, at: At<'t>, offset: usize) -> Option<Reference> {
        let mut operands: Vec<Operand> = Vec::new();
        let mut begin = 0;
        for part in inside.split("??") {
            let lead = part.len() - part.trim_start().len();
            let start = offset + begin + lead;
            begin += part.len() + "??".len();
            let part = part.trim();
            let here = start..start + part.len().max(1);
            if let Ok(value) = Value::from_json(part) {
                operands.push(Operand::Literal(value));
                continue;
            }
            let end = part.find(['.', '[']).unwrap_or(part.len());
            let (steps, length) = steps(&part[end..]);
            let name = &part[..end];
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) || end + length < part.len() {
                self.bad(at, here, "this is no reference");
                return None;
            }
            let variable = match name {
                INDEX if self.item.is_some() => Some("index"),
                name => self.item.filter(|item| *item == name),
            };
            if let Some(variable) = variable {
                operands.push(Operand::Path(Path {
                    variable: true,
                    ..Path::new(variable, steps)
                }));
                continue;
            }
            if let Some(local) = self.locals.and_then(|locals| locals.get(name)) {
                operands.extend(local.iter().filter_map(|one| below(one, &steps)));
                continue;
            }
            match self.names.operands(name, steps) {
                Some(found) => operands.extend(found),
                None => {
                    self.unknown(name, at, start..start + name.len());
                    return None;
                }
            }
        }
        operands.dedup();
        // Nothing comes after what is always there.
        let last = operands
            .iter()
            .position(|one| matches!(one, Operand::Literal(_)));
        operands.truncate(last.map_or(operands.len(), |at| at + 1));
        Some(Reference {
            operands,
            sure: false,
        })
    }

    /// How many names are compared with one that is unknown: none any more after many flaws.
    fn care(&self) -> usize {
        if self.flaws.count() > EXACT_MAX {
            0
        } else {
            usize::MAX
        }
    }

    fn place(&self, at: At<'t>, bytes: &Range<usize>) -> Place {
        if self.flaws.count() > EXACT_MAX {
            at.place()
        } else {
            at.inside(bytes)
        }
    }

    fn unknown(&mut self, name: &str, at: At<'t>, bytes: Range<usize>) {
        let inputs = self.names.inputs.iter().map(|input| input.name.as_str());
        let known: Vec<_> = inputs.chain(self.names.nodes()).take(self.care()).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a node or an input; `$${…}` is just text".to_owned(),
        };
        let message = format!("there is no node or input `{}`", shown(name));
        let place = self.place(at, &bytes);
        self.flaws.add(Code::UnknownNode, place, message, hint);
    }

    fn bad(&mut self, at: At<'t>, bytes: Range<usize>, message: &str) {
        let place = self.place(at, &bytes);
        self.flaws.add(
            Code::BadExpression,
            place,
            message,
            "write `${node.key[0]}`, or `$${…}` if it is just text",
        );
    }
}

/// Where the `}` is that ends a reference: not one in quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' if quoted => {
                letters.next();
            }
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// The value of a template without references.
fn plain(template: &Template) -> Option<Value> {
    match template {
        Template::Literal(value) => Some(value.clone()),
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => None,
    }
}
