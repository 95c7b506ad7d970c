//! `@{…}`: what is said of a vertex or a link as data, on one line or several.

use super::mask::MASK;
use super::parse::{Bad, Parser};
use super::{Caption, Decoration, Shape, captions};
use crate::formats::document;
use crate::text::shown;
use std::fmt::Write;
use tramline_expr::{Str, Value};

/// Data as pairs of a key and a plain value.
pub(super) type Attributes = Vec<(Str, Value)>;

impl Parser<'_, '_> {
    /// The data of a vertex.
    pub(super) fn data(&mut self, place: usize) -> Result<(), Bad> {
        let start = self.scan.at;
        let (mut shape, mut caption) = (None, None);
        for (key, value) in self.attributes()? {
            match (key.as_str(), &value) {
                ("shape", Value::String(name)) => shape = Some(named(name, start)?),
                ("label", value) => caption = Some(label(value)),
                _ => {
                    let value = decoded(value);
                    let known = &mut self.chart.vertices[place].attributes;
                    match known.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, old)) => *old = value,
                        None => known.push((key, value)),
                    }
                }
            }
        }
        self.draw(place, shape, caption, (start..self.scan.at).into());
        Ok(())
    }

    /// The data of a link.
    pub(super) fn link_data(&mut self, id: &str) -> Result<(), Bad> {
        let start = self.scan.at;
        let mut attributes = self.attributes()?;
        for (_, value) in &mut attributes {
            *value = decoded(value.clone());
        }
        self.decorate(
            start,
            Decoration::Link {
                id: id.into(),
                attributes: written(&attributes).into(),
            },
        )?;
        self.ended()
    }

    fn attributes(&mut self) -> Result<Attributes, Bad> {
        let start = self.scan.at;
        self.scan.take("@{");
        let from = self.scan.at;
        let mut quoted = false;
        let end = match self.unclosed.data {
            true => None,
            false => self.scan.rest().find(|c| {
                quoted ^= c == '"';
                c == '}' && !quoted
            }),
        };
        let Some(end) = end else {
            self.unclosed.data = true;
            return Err(Bad::at(start, "`@{` is not closed", "end it with `}`"));
        };
        self.scan.at += end;
        let text = self.scan.since(from);
        self.scan.take("}");
        pairs(text).map_err(|what| {
            let hint = "write `@{ shape: rect, label: \"text\" }`";
            Bad::at(
                start,
                format!("what stands in `@{{…}}` cannot be read: {what}"),
                hint,
            )
        })
    }
}

/// A caption in data: in backticks it is Markdown, as it is between quotes.
fn label(value: &Value) -> Caption {
    let Value::String(text) = value else {
        return captions::caption(&value.to_string(), false);
    };
    match text.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
        Some(inside) => captions::caption(inside, true),
        None => captions::caption(text, false),
    }
}

fn decoded(value: Value) -> Value {
    match value {
        Value::String(text) => captions::decode(&text).into(),
        other => other,
    }
}

fn named(name: &str, start: usize) -> Result<Shape, Bad> {
    Shape::find(name).map_err(|near| {
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "such as `rect`, `stadium` or `diam`".to_owned(),
        };
        Bad::at(start, format!("there is no shape `{}`", shown(name)), hint)
    })
}

/// The pairs of data as YAML: in braces on one line, as a block on several.
fn pairs(text: &str) -> Result<Attributes, String> {
    let (mut flat, mut quoted) = (String::with_capacity(text.len() + 4), false);
    for c in text.chars().filter(|c| *c != MASK && *c != '\r') {
        quoted ^= c == '"';
        match (c, quoted) {
            ('\n', true) => flat.push_str("<br/>"),
            _ => flat.push(c),
        }
    }
    if flat.trim().is_empty() {
        return Ok(Vec::new());
    }
    let braced = format!("{{{flat}}}");
    let tree = match flat.contains('\n') {
        true => document::read(flat.as_bytes()).or_else(|_| document::read(braced.as_bytes())),
        false => document::read(braced.as_bytes()),
    };
    let tree = tree.map_err(|flaws| {
        flaws
            .first()
            .map_or_else(String::new, |it| it.message.clone())
    })?;
    let Some(map) = tree.root().value.as_object() else {
        return Err("it is no list of `key: value`".to_owned());
    };
    let mut found = Vec::new();
    for (key, value) in map.iter() {
        let value = match value {
            Value::Null => continue,
            Value::String(_) | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("`{}` must be a plain value", shown(key)));
            }
        };
        found.push((captions::decode(key), value));
    }
    Ok(found)
}

/// Pairs as they are written between `@{` and `}`.
pub(super) fn written(attributes: &[(Str, Value)]) -> String {
    let mut text = String::new();
    for (key, value) in attributes {
        if !text.is_empty() {
            text.push_str(", ");
        }
        match value {
            Value::String(it) => {
                let it = captions::encode_line(it);
                let _ = write!(text, "\"{}\": \"{it}\"", captions::encode_line(key));
            }
            other => {
                let _ = write!(text, "\"{}\": {other}", captions::encode_line(key));
            }
        }
    }
    text
}
