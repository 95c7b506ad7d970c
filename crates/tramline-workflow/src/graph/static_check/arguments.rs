//! Checks the arguments of a call against the schema of its tool: missing, unknown, of the wrong
//! type.

use super::findings::listed;
use super::{StaticChecker, child_pointer};
use crate::flaw::FlawCode;
use crate::graph::NodePart;
use crate::ids::ToolName;
use crate::setting_references;
use crate::text::{display_name, nearest, resembles};
use crate::workflow::Template;
use tramline_expr::{Shape, Str, Value, local_reference};

/// Levels of arguments that are checked.
const DEPTH_MAX: usize = 8;

/// An argument: its value as far as it is written, and what is known about it.
struct GivenArgument<'a> {
    literal: Option<&'a Value>,
    shape: Shape,
}

impl StaticChecker<'_> {
    pub(super) fn check_arguments(
        &mut self,
        tool: &ToolName,
        schema: &Value,
        arguments: &Template,
        shape: &Shape,
    ) {
        let names: Vec<&Str> = match arguments {
            Template::Literal(value) => {
                let map = value.as_object();
                map.into_iter().flat_map(|map| map.keys()).collect()
            }
            Template::Object(fields) => fields.iter().map(|(key, _)| key).collect(),
            // Computed as a whole: known when the call is made.
            Template::Expr(_) | Template::Array(_) => return,
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = properties
            .into_iter()
            .flat_map(|map| map.keys())
            .map(Str::as_str)
            .collect();
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.unwrap_or_default().iter();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let meant = self.unknown_arguments(tool, schema, &names, (&known, &required));
        for name in required {
            let is_given = names.iter().any(|given| *given == name);
            let has_default = properties
                .and_then(|map| map.get(name))
                .is_some_and(|part| part.get("default").is_some());
            if !is_given && !has_default && !meant.contains(&name) {
                let node = &self.graph.node(self.node).id;
                let message = format!("`{node}` lacks the argument `{name}` that {tool} requires");
                let hint = format!("add `{name}` to its arguments");
                self.report(
                    FlawCode::BadArgument,
                    NodePart::Arguments,
                    "",
                    message,
                    hint,
                );
            }
        }
        for name in names {
            let Some(part) = properties.and_then(|map| map.get(name)) else {
                continue;
            };
            let given = GivenArgument {
                literal: literal_part(arguments, name),
                shape: shape_part(shape, name),
            };
            let pointer = child_pointer("", name);
            self.check_type(part, schema, &given, &pointer, 0);
        }
    }

    /// Reports unknown arguments, and returns the known ones that they were probably meant to be.
    fn unknown_arguments<'k>(
        &mut self,
        tool: &ToolName,
        schema: &Value,
        names: &[&Str],
        (known, required): (&[&'k str], &[&'k str]),
    ) -> Vec<&'k str> {
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let is_given = |known: &&str| names.iter().any(|given| given == known);
        let unknown = names.iter().filter(|name| !known.contains(&name.as_str()));
        // One unknown argument and one missing: the same under two names.
        let mut missing = required.iter().copied().filter(|name| !is_given(name));
        let only_missing = match (unknown.count(), missing.next(), missing.next()) {
            (1, Some(only), None) if is_closed => Some(only),
            _ => None,
        };
        let mut meant = Vec::new();
        for name in names {
            if known.contains(&name.as_str()) {
                continue;
            }
            let free = known.iter().copied();
            let free = free.filter(|known| !names.iter().any(|given| given == known));
            let near = nearest(name, free).or(only_missing);
            let is_typo = near.is_some_and(|near| resembles(name, near));
            // A schema that does not exclude other arguments may have more than it lists.
            if !is_closed && !is_typo {
                continue;
            }
            let message = format!("{tool} has no argument `{}`", display_name(name));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "remove it: the tool takes no arguments".to_owned(),
                None => format!("remove it; it takes {}", listed(known.iter().copied())),
            };
            meant.extend(near);
            let pointer = child_pointer("", name);
            self.report(
                FlawCode::BadArgument,
                NodePart::ArgumentName,
                &pointer,
                message,
                hint,
            );
        }
        meant
    }

    fn check_type(
        &mut self,
        schema: &Value,
        root: &Value,
        given: &GivenArgument<'_>,
        pointer: &str,
        depth: usize,
    ) {
        if depth > DEPTH_MAX {
            return;
        }
        if let Some(target) = schema.get("$ref") {
            if let Some(target) = local_reference(root, target) {
                self.check_type(target, root, given, pointer, depth + 1);
            }
            return;
        }
        let combined = ["anyOf", "oneOf", "allOf", "not", "if"];
        if combined.iter().any(|key| schema.get(key).is_some()) {
            return;
        }
        let types = types_of(schema);
        let name = display_name(pointer.rsplit('/').next().unwrap_or_default());
        if !types.is_empty() && !fits(&types, given) {
            let wanted = types.join(" or ");
            let found = match (given.literal, &given.shape) {
                (Some(value), _) => value.kind(),
                (None, shape) => kind_of(shape),
            };
            let message = format!("`{name}` must be {}, not {found}", with_article(&wanted));
            let hint = converted(&types, given.literal).map_or_else(
                || format!("give {}", with_article(&wanted)),
                |it| format!("write `{it}`"),
            );
            let hint = match given.literal {
                Some(_) => hint,
                None => {
                    conversion(&types).map_or(hint, |function| format!("wrap it in `{function}`"))
                }
            };
            self.report(
                FlawCode::BadArgument,
                NodePart::Arguments,
                pointer,
                message,
                hint,
            );
            return;
        }
        let Some(literal) = given.literal else {
            return;
        };
        self.check_choice(schema, literal, &name, pointer);
        match literal {
            Value::Object(map) => {
                let parts = schema.get("properties").and_then(Value::as_object);
                for (key, value) in map.iter() {
                    if let Some(part) = parts.and_then(|parts| parts.get(key)) {
                        let inside = GivenArgument {
                            literal: Some(value),
                            shape: Shape::Any,
                        };
                        let pointer = child_pointer(pointer, key);
                        self.check_type(part, root, &inside, &pointer, depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                /// Items of a list that are checked; a list has one kind of item.
                const ITEMS_MAX: usize = 64;
                let Some(part) = schema.get("items") else {
                    return;
                };
                for (at, value) in items.iter().enumerate().take(ITEMS_MAX) {
                    let inside = GivenArgument {
                        literal: Some(value),
                        shape: Shape::Any,
                    };
                    self.check_type(part, root, &inside, &format!("{pointer}/{at}"), depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn check_choice(&mut self, schema: &Value, literal: &Value, name: &str, pointer: &str) {
        let Some(choices) = schema.get("enum").and_then(Value::as_array) else {
            return;
        };
        if choices.contains(literal) || literal.is_null() || uses_settings(literal) {
            return;
        }
        let texts = || choices.iter().filter_map(Value::as_str);
        let near = literal.as_str().and_then(|text| nearest(text, texts()));
        let message = format!("`{name}` must be one of {}", listed(texts()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", listed(texts())),
        };
        self.report(
            FlawCode::BadArgument,
            NodePart::Arguments,
            pointer,
            message,
            hint,
        );
    }
}

fn literal_part<'t>(arguments: &'t Template, name: &str) -> Option<&'t Value> {
    match arguments {
        Template::Literal(value) => value.get(name),
        Template::Object(fields) => match fields.iter().find(|(key, _)| key == name)? {
            (_, Template::Literal(value)) => Some(value),
            (_, Template::Expr(_) | Template::Object(_) | Template::Array(_)) => None,
        },
        Template::Expr(_) | Template::Array(_) => None,
    }
}

fn shape_part(shape: &Shape, name: &str) -> Shape {
    match shape {
        Shape::Object(object) => {
            let found = object.fields.iter().find(|(key, _)| key == name);
            found.map_or(Shape::Any, |(_, shape)| shape.clone())
        }
        Shape::Any
        | Shape::Text
        | Shape::Number
        | Shape::Bool
        | Shape::List(_)
        | Shape::Items(_) => Shape::Any,
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a value can have one of these types.
fn fits(types: &[&str], given: &GivenArgument<'_>) -> bool {
    let any = |kinds: &[&str]| types.iter().any(|kind| kinds.contains(kind));
    match given.literal {
        Some(Value::Null) => true,
        Some(Value::String(_)) => any(&["string"]) || given.literal.is_some_and(uses_settings),
        Some(Value::Bool(_)) => any(&["boolean"]),
        Some(value @ Value::Number(_)) => {
            let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
            any(&["number"]) || (is_whole && any(&["integer"]))
        }
        Some(Value::Array(_)) => any(&["array"]),
        Some(Value::Object(_)) => any(&["object"]),
        None => match &given.shape {
            Shape::Any | Shape::Items(_) => true,
            Shape::Text => any(&["string"]),
            Shape::Number => any(&["number", "integer"]),
            Shape::Bool => any(&["boolean"]),
            Shape::List(_) => any(&["array"]),
            Shape::Object(_) => any(&["object"]),
        },
    }
}

fn uses_settings(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    setting_references::references(text).next().is_some()
}

fn kind_of(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any | Shape::Items(_) => "this",
        Shape::Text => "a string",
        Shape::Number => "a number",
        Shape::Bool => "a boolean",
        Shape::List(_) => "an array",
        Shape::Object(_) => "an object",
    }
}

fn with_article(kind: &str) -> String {
    match kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {kind}"),
        false => format!("a {kind}"),
    }
}

/// The same value in a type that fits, as JSON.
fn converted(types: &[&str], literal: Option<&Value>) -> Option<String> {
    let literal = literal?;
    let plain = match literal {
        Value::String(text) => Value::from_json(text.trim()).ok(),
        Value::Bool(_) | Value::Number(_) => Some(Value::from(literal.to_json())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let word = match literal {
        Value::String(text) => text.trim().to_lowercase(),
        other => other.to_json(),
    };
    let truth = match word.as_str() {
        "true" | "yes" | "on" | "1" => Some(Value::Bool(true)),
        "false" | "no" | "off" | "0" => Some(Value::Bool(false)),
        _ => None,
    };
    let listed = Value::array([literal.clone()]);
    let candidates = plain.into_iter().chain(truth).chain([listed]);
    let mut candidates = candidates.filter(|value| {
        let given = GivenArgument {
            literal: Some(value),
            shape: Shape::Any,
        };
        !value.is_null() && fits(types, &given)
    });
    candidates.next().map(|value| value.to_json())
}

/// The function that makes a value of one of these types from another one, around `…`.
fn conversion(types: &[&str]) -> Option<&'static str> {
    match types {
        ["string"] => Some("$string(…)"),
        ["number" | "integer"] => Some("$number(…)"),
        ["boolean"] => Some("$boolean(…)"),
        ["array"] => Some("[…]"),
        _ => None,
    }
}
