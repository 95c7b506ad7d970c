//! `${…}` references inside values, checked against the nodes and inputs of the document.

use super::reference_scope::{LocalInputs, ReferenceScope, operand_part};
use crate::reference::{
    OutputReference, ReferenceOperand, ReferencePath, ReferenceStep, TextPart, concat_expression,
    parse_steps,
};
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::setting_references;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::Template;

/// The start of a reference; `$${` is plain text.
pub(super) const REFERENCE_START: &str = "${";

/// Words for the inputs that documents of other systems use.
const INPUT_WORDS: [&str; 5] = ["input", "inputs", "params", "args", "entry"];

/// The name of the item's index in a batch.
pub(super) const INDEX_NAME: &str = "__index__";

/// The start of a reference as an index of another one.
const NESTED_START: &str = "[${";

/// Indexes that stand for nested references while a reference is read. They are as short as the shortest one, `${i}`.
const NESTED_MIN: u32 = 1_000;
/// The largest of them.
const NESTED_MAX: u32 = 9_999;

/// How deep references may be inside each other.
const NESTING_MAX: usize = 3;
/// How many references may be indexes of one reference.
const NESTED_AT_ONCE_MAX: usize = 8;

/// Flaws after which suggestions and locations inside a string are no longer computed, to limit the
/// cost.
const EXACT_LOCATIONS_MAX: usize = 100;

/// Reads values that may contain references.
pub(super) struct TemplateReader<'n, 't, 'f> {
    pub(super) names: &'n ReferenceScope<'t>,
    /// The name of the batch item, if there is one.
    pub(super) item: Option<&'n str>,
    /// The node's own inputs.
    pub(super) locals: Option<&'n LocalInputs>,
    pub(super) flaws: &'f mut FlawCollector,
}

impl<'n, 't, 'f> TemplateReader<'n, 't, 'f> {
    /// A reader for values outside of a batch, with access to nodes and inputs.
    pub(super) fn new(names: &'n ReferenceScope<'t>, flaws: &'f mut FlawCollector) -> Self {
        Self {
            names,
            item: None,
            locals: None,
            flaws,
        }
    }

    /// The template for a value.
    pub(super) fn template(&mut self, at: Spanned<'t>) -> Template {
        match at.value {
            Value::String(text) if text.contains(REFERENCE_START) => self.text(text, at),
            Value::Object(_) => {
                let fields = at.fields().map(|(key, field)| (key.clone(), field));
                let fields: Vec<_> = fields.collect();
                self.object(fields)
            }
            Value::Array(_) => {
                let items: Vec<_> = at.items().map(|item| self.template(item)).collect();
                match items.iter().map(literal_value).collect::<Option<Vec<_>>>() {
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
    pub(super) fn object(&mut self, fields: Vec<(Str, Spanned<'t>)>) -> Template {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(key, field)| (key, self.template(field)))
            .collect();
        let plain = fields
            .iter()
            .map(|(key, field)| Some((key.clone(), literal_value(field)?)));
        match plain.collect::<Option<Vec<_>>>() {
            Some(plain) => Template::Literal(Value::object(plain)),
            None => Template::Object(fields),
        }
    }

    /// A string with references. A string that is only a reference keeps the type of its value.
    fn text(&mut self, text: &str, at: Spanned<'t>) -> Template {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut done = 0;
        while let Some(found) = text[done..].find(REFERENCE_START) {
            let begin = done + found;
            plain.push_str(&text[done..begin]);
            let inside = begin + REFERENCE_START.len();
            if plain.ends_with('$') && begin > done {
                // Drop the escaping `$` and keep the rest as text.
                plain.pop();
                plain.push_str(REFERENCE_START);
                done = inside;
                if setting_references::starts_with_reference(&text[begin..]) {
                    // Split into two pieces, so that the result is not read as a setting.
                    pieces.push(TextPart::Text(std::mem::take(&mut plain)));
                }
                continue;
            }
            if let Some(end) = self.setting(&text[begin..]) {
                plain.push_str(&text[begin..begin + end]);
                done = begin + end;
                continue;
            }
            let Some(end) = closing_brace(&text[inside..]).map(|end| inside + end) else {
                self.report_invalid(at, begin..text.len(), "`${` is not closed");
                return Template::Literal(at.value.clone());
            };
            if !plain.is_empty() {
                pieces.push(TextPart::Text(std::mem::take(&mut plain)));
            }
            if let Some(reference) = self.nested_reference(&text[inside..end], at, inside, 0) {
                pieces.push(TextPart::Reference(reference));
            }
            done = end + 1;
        }
        plain.push_str(&text[done..]);
        if !plain.is_empty() {
            pieces.push(TextPart::Text(plain));
        }
        match pieces.as_slice() {
            [] => Template::Literal("".into()),
            [TextPart::Text(only)] => Template::Literal(only.as_str().into()),
            [TextPart::Reference(only)] => Template::Expr(only.jsonata().into()),
            pieces => Template::Expr(concat_expression(pieces).into()),
        }
    }

    /// The end of a settings reference at the start of a text. A node or an input called `settings` takes
    /// precedence.
    fn setting(&self, text: &str) -> Option<usize> {
        let (at, _) = setting_references::references(text).next()?;
        let taken = self.names.is_node("settings")
            || self.item == Some("settings")
            || self
                .names
                .inputs
                .iter()
                .any(|input| input.name == "settings");
        (at.start == 0 && !taken).then_some(at.end)
    }

    /// Parses the content of `${…}`, which may have references as indexes: `list.results[${__index__}].name`. Each is
    /// read in place of a number that occurs nowhere else, and put back as a variable.
    fn nested_reference(
        &mut self,
        inside: &str,
        at: Spanned<'t>,
        offset: usize,
        depth: usize,
    ) -> Option<OutputReference> {
        let mut flat = inside.to_owned();
        let mut bindings = Vec::new();
        while let Some(begin) = flat.find(NESTED_START).map(|begin| begin + 1) {
            let inner = begin + REFERENCE_START.len();
            let end = closing_brace(&flat[inner..]).map(|end| inner + end);
            let Some(end) = end.filter(|end| flat[end + 1..].starts_with(']')) else {
                let bytes = offset + begin..offset + flat.len();
                self.report_invalid(at, bytes, "a reference in brackets is not closed by `}]`");
                return None;
            };
            if depth == NESTING_MAX || bindings.len() == NESTED_AT_ONCE_MAX {
                let bytes = offset + begin..offset + end + 1;
                self.report_invalid(at, bytes, "too many references inside each other");
                return None;
            }
            let index = self.nested_reference(&flat[inner..end], at, offset + inner, depth + 1)?;
            let number = (NESTED_MIN..=NESTED_MAX)
                .rev()
                .find(|number| !flat.contains(&number.to_string()))?;
            bindings.push((number, index.jsonata()));
            // Of the same length, so that places in the text stay the same.
            let width = end + 1 - begin;
            flat.replace_range(begin..=end, &format!("{number:0width$}"));
        }
        let mut reference = self.reference(&flat, at, offset)?;
        if bindings.is_empty() {
            return Some(reference);
        }
        let mut source = reference.jsonata();
        for (level, (number, _)) in bindings.iter().enumerate() {
            source = source.replace(&format!("[{number}]"), &format!("[$at{level}]"));
        }
        let bound = bindings.iter().enumerate();
        let bound = bound.map(|(level, (_, index))| format!("$at{level} := {index}; "));
        let bound: String = bound.collect();
        reference.operands = vec![ReferenceOperand::Source(
            format!("({bound}{source})").into(),
        )];
        Some(reference)
    }

    /// Parses the content of `${…}` without references inside: paths, with fallbacks after `??`.
    fn reference(
        &mut self,
        inside: &str,
        at: Spanned<'t>,
        offset: usize,
    ) -> Option<OutputReference> {
        let mut operands: Vec<ReferenceOperand> = Vec::new();
        let mut begin = 0;
        for part in inside.split("??") {
            let lead = part.len() - part.trim_start().len();
            let start = offset + begin + lead;
            begin += part.len() + "??".len();
            let part = part.trim();
            let here = start..start + part.len().max(1);
            if let Ok(value) = Value::from_json(part) {
                operands.push(ReferenceOperand::Literal(value));
                continue;
            }
            let end = part.find(['.', '[']).unwrap_or(part.len());
            let (steps, length) = parse_steps(&part[end..]);
            let name = &part[..end];
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) || end + length < part.len() {
                self.report_invalid(at, here, "invalid reference");
                return None;
            }
            let variable = match name {
                INDEX_NAME if self.item.is_some() => Some("index"),
                name => self.item.filter(|item| *item == name),
            };
            if let Some(variable) = variable {
                operands.push(ReferenceOperand::Path(ReferencePath {
                    is_variable: true,
                    ..ReferencePath::new(variable, steps)
                }));
                continue;
            }
            if let Some(local) = self.locals.and_then(|locals| locals.get(name)) {
                operands.extend(local.iter().filter_map(|one| operand_part(one, &steps)));
                continue;
            }
            match self.names.operands(name, steps.clone()) {
                Some(found) => operands.extend(found),
                None => {
                    self.report_unknown(name, &steps, at, start..start + name.len());
                    return None;
                }
            }
        }
        operands.dedup();
        // Nothing is tried after a literal.
        let last = operands
            .iter()
            .position(|one| matches!(one, ReferenceOperand::Literal(_)));
        operands.truncate(last.map_or(operands.len(), |at| at + 1));
        Some(OutputReference {
            operands,
            is_certain: false,
        })
    }

    /// The number of names considered for suggestions: none once there are many flaws.
    fn suggestion_limit(&self) -> usize {
        if self.flaws.count() > EXACT_LOCATIONS_MAX {
            0
        } else {
            usize::MAX
        }
    }

    fn span_of(&self, at: Spanned<'t>, bytes: &Range<usize>) -> SourceSpan {
        if self.flaws.count() > EXACT_LOCATIONS_MAX {
            at.source_span()
        } else {
            at.span_inside(bytes)
        }
    }

    fn report_unknown(
        &mut self,
        name: &str,
        steps: &[ReferenceStep],
        at: Spanned<'t>,
        mut bytes: Range<usize>,
    ) {
        let inputs = self.names.inputs.iter().map(|input| input.name.as_str());
        let known: Vec<_> = inputs
            .chain(self.names.nodes())
            .take(self.suggestion_limit())
            .collect();
        // Inputs are referred to by their names alone.
        let of_inputs = match steps.first() {
            Some(ReferenceStep::Key(input)) if INPUT_WORDS.contains(&name) => {
                let known = self.names.inputs.iter().map(|input| input.name.as_str());
                let meant = nearest(input, known);
                if meant.is_some() {
                    bytes.end += ".".len() + input.len();
                }
                meant
            }
            Some(ReferenceStep::Key(_) | ReferenceStep::Index(_)) | None => None,
        };
        let hint = match of_inputs.or_else(|| nearest(name, known.iter().copied())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a node or an input; `$${…}` is just text".to_owned(),
        };
        let message = format!("there is no node or input `{}`", display_name(name));
        let place = self.span_of(at, &bytes);
        self.flaws.add(FlawCode::UnknownNode, place, message, hint);
    }

    fn report_invalid(&mut self, at: Spanned<'t>, bytes: Range<usize>, message: &str) {
        let place = self.span_of(at, &bytes);
        self.flaws.add(
            FlawCode::BadExpression,
            place,
            message,
            "write `${node.key[0]}`, or `$${…}` if it is just text",
        );
    }
}

/// The position of the closing `}`, ignoring quoted ones and those of references inside.
fn closing_brace(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut nested = 0_usize;
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' if quoted => {
                letters.next();
            }
            '"' => quoted = !quoted,
            '$' if !quoted && text[at..].starts_with(REFERENCE_START) => nested += 1,
            '}' if !quoted && nested > 0 => nested -= 1,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// The value of a template without references.
fn literal_value(template: &Template) -> Option<Value> {
    match template {
        Template::Literal(value) => Some(value.clone()),
        Template::Expr(_) | Template::Object(_) | Template::Array(_) => None,
    }
}
