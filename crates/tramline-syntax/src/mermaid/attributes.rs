//! `@{…}`: the attributes of a vertex or a link, on one or several lines.

use super::mask::MASK;
use super::parse::{FlowchartParser, StatementError};
use super::{ChartLabel, NodeShape, StyleStatement, labels};
use crate::document;
use std::fmt::Write;
use tramline_expr::{Str, Value};
use tramline_workflow::text::display_name;

/// Attributes as pairs of a key and a scalar.
pub(super) type Attributes = Vec<(Str, Value)>;

impl FlowchartParser<'_, '_> {
    /// Parses the attributes of a vertex.
    pub(super) fn vertex_attributes(&mut self, place: usize) -> Result<(), StatementError> {
        let start = self.scan.at;
        let (mut shape, mut caption) = (None, None);
        for (key, value) in self.read_attributes()? {
            match (key.as_str(), &value) {
                ("shape", Value::String(name)) => shape = Some(shape_by_name(name, start)?),
                ("label", value) => caption = Some(label_from_value(value)),
                _ => {
                    let value = decode_value(value);
                    let known = &mut self.chart.vertices[place].attributes;
                    match known.iter_mut().find(|(name, _)| *name == key) {
                        Some((_, old)) => *old = value,
                        None => known.push((key, value)),
                    }
                }
            }
        }
        self.set_label(place, shape, caption, (start..self.scan.at).into());
        Ok(())
    }

    /// Parses the attributes of a link.
    pub(super) fn link_attributes(&mut self, id: &str) -> Result<(), StatementError> {
        let start = self.scan.at;
        let mut attributes = self.read_attributes()?;
        for (_, value) in &mut attributes {
            *value = decode_value(value.clone());
        }
        self.add_style(
            start,
            StyleStatement::Link {
                id: id.into(),
                attributes: write_pairs(&attributes).into(),
            },
        )?;
        self.expect_end()
    }

    fn read_attributes(&mut self) -> Result<Attributes, StatementError> {
        let start = self.scan.at;
        self.scan.accept("@{");
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
            return Err(StatementError::at(
                start,
                "`@{` is not closed",
                "end it with `}`",
            ));
        };
        self.scan.at += end;
        let text = self.scan.text_since(from);
        self.scan.accept("}");
        parse_pairs(text).map_err(|what| {
            let hint = "write `@{ shape: rect, label: \"text\" }`";
            StatementError::at(
                start,
                format!("invalid attributes in `@{{…}}`: {what}"),
                hint,
            )
        })
    }
}

/// The label in attributes; backticks make it Markdown.
fn label_from_value(value: &Value) -> ChartLabel {
    let Value::String(text) = value else {
        return labels::parse_label(&value.to_string(), false);
    };
    match text.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
        Some(inside) => labels::parse_label(inside, true),
        None => labels::parse_label(text, false),
    }
}

fn decode_value(value: Value) -> Value {
    match value {
        Value::String(text) => labels::decode(&text).into(),
        other => other,
    }
}

fn shape_by_name(name: &str, start: usize) -> Result<NodeShape, StatementError> {
    NodeShape::find(name).map_err(|near| {
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "such as `rect`, `stadium` or `diam`".to_owned(),
        };
        StatementError::at(
            start,
            format!("there is no shape `{}`", display_name(name)),
            hint,
        )
    })
}

/// Parses the attributes as YAML: a flow mapping on one line, a block mapping on several.
fn parse_pairs(text: &str) -> Result<Attributes, String> {
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
        return Err("it is not a list of `key: value`".to_owned());
    };
    let mut found = Vec::new();
    for (key, value) in map.iter() {
        let value = match value {
            Value::Null => continue,
            Value::String(_) | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("`{}` must be a plain value", display_name(key)));
            }
        };
        found.push((labels::decode(key), value));
    }
    Ok(found)
}

/// Writes attributes for use between `@{` and `}`.
pub(super) fn write_pairs(attributes: &[(Str, Value)]) -> String {
    let mut text = String::new();
    for (key, value) in attributes {
        if !text.is_empty() {
            text.push_str(", ");
        }
        match value {
            Value::String(it) => {
                let it = labels::encode_line(it);
                let _ = write!(text, "\"{}\": \"{it}\"", labels::encode_line(key));
            }
            other => {
                let _ = write!(text, "\"{}\": {other}", labels::encode_line(key));
            }
        }
    }
    text
}
