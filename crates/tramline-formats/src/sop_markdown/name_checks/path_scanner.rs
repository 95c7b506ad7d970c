//! Finds the names that an expression reads, without evaluating it.

use tramline_expr::{Str, Value};

/// The start of a path: `slots.reason` reads the name `reason` of the root `slots`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathUse {
    pub(super) root: Str,
    pub(super) name: Option<Str>,
}

/// JSON Logic operators whose second operand refers to the items of a list.
const LIST_OPERATORS: [&str; 6] = ["map", "filter", "all", "some", "none", "reduce"];

/// The paths of an expression that start at its input.
pub(super) fn uses(formula: &Value) -> Vec<PathUse> {
    let mut found = Vec::new();
    match formula {
        Value::String(text) => expression_uses(text, &mut found),
        rule => logic_uses(rule, &mut found),
    }
    found
}

fn logic_uses(rule: &Value, found: &mut Vec<PathUse>) {
    if let Some(items) = rule.as_array() {
        items.iter().for_each(|it| logic_uses(it, found));
    }
    for (operator, below) in rule.as_object().into_iter().flat_map(|map| map.iter()) {
        let first = below.as_array().and_then(|items| items.first());
        if operator == "var" {
            let text = below.as_str().or_else(|| first.and_then(Value::as_str));
            let text = text.unwrap_or_default();
            expression_uses(text.strip_prefix("$.").unwrap_or(text), found);
        } else if LIST_OPERATORS.contains(&operator.as_str()) {
            first.into_iter().for_each(|it| logic_uses(it, found));
        } else {
            logic_uses(below, found);
        }
    }
}

/// Scans an expression for the starts of paths. Inside `[…]` and after `.(` names refer to items,
/// except after `$$`.
fn expression_uses(text: &str, found: &mut Vec<PathUse>) {
    let mut scanner = PathScanner {
        rest: text,
        before: "",
        inside: Vec::new(),
    };
    while let Some(one) = scanner.next_use() {
        found.extend(one);
    }
}

struct PathScanner<'t> {
    rest: &'t str,
    /// The last token that is not whitespace.
    before: &'t str,
    /// For each open bracket, whether names inside refer to items.
    inside: Vec<bool>,
}

impl<'t> PathScanner<'t> {
    /// Reads the next token, with a use if it starts a path.
    fn next_use(&mut self) -> Option<Option<PathUse>> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        let length = match first {
            '"' | '\'' => literal_length(self.rest, first),
            '/' if self.rest.starts_with("/*") => {
                self.rest.find("*/").map_or(self.rest.len(), |at| at + 2)
            }
            '`' => self.rest[1..]
                .find('`')
                .map_or(self.rest.len(), |at| at + 2),
            '$' if self.rest.starts_with("$$") => 2,
            c if is_name(c) || c == '$' => {
                let tail = self.rest[c.len_utf8()..].find(|c: char| !is_name(c));
                tail.map_or(self.rest.len(), |at| at + c.len_utf8())
            }
            c => c.len_utf8(),
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        let before = std::mem::replace(&mut self.before, token);
        match first {
            '[' => self.inside.push(true),
            '(' | '{' => {
                let is_items = before == "." || self.is_inside();
                self.inside.push(is_items);
            }
            ']' | ')' | '}' => {
                self.inside.pop();
            }
            '$' if token == "$$" => {
                let root = self.step();
                let name = root.as_ref().and_then(|_| self.step());
                return Some(root.map(|root| PathUse { root, name }));
            }
            c if (is_name(c) && !c.is_ascii_digit()) || c == '`' => {
                let is_step = before == "." || self.is_inside();
                return Some((!is_step && !is_word(token)).then(|| PathUse {
                    root: token.trim_matches('`').into(),
                    name: self.step(),
                }));
            }
            _ => {}
        }
        Some(None)
    }

    fn is_inside(&self) -> bool {
        self.inside.contains(&true)
    }

    /// The name after a dot, if there is one.
    fn step(&mut self) -> Option<Str> {
        let rest = self.rest.trim_start().strip_prefix('.')?.trim_start();
        let (name, after) = match rest.strip_prefix('`') {
            Some(quoted) => quoted.split_once('`')?,
            None => {
                let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        if name.is_empty() {
            return None;
        }
        self.rest = after;
        self.before = name;
        Some(name.into())
    }
}

/// The length of a string literal with its quotes.
fn literal_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word(token: &str) -> bool {
    ["and", "or", "in", "true", "false", "null", "function"].contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let value = match text.starts_with('{') {
            true => Value::from_json(text).unwrap(),
            false => text.into(),
        };
        let uses = uses(&value).into_iter();
        uses.map(|it| format!("{}.{}", it.root, it.name.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn paths_are_found_where_they_begin() {
        assert_eq!(told("results.find.status = \"slots.no\""), ["results.find"]);
        assert_eq!(
            told("calls.get[args.id = $$.args.order].result.x and slots.a"),
            ["calls.get", "args.order", "slots.a"]
        );
        assert_eq!(
            told("$count(lookups.`a b`.items.(x.y)) > 1 /* slots.z */"),
            ["lookups.a b"]
        );
        assert_eq!(
            told("$map(args.ids, function($i){ $i.x in lookups.o.ids })"),
            ["args.ids", "lookups.o"]
        );
        assert_eq!(
            told(
                r#"{"and": [{"==": [{"var": "slots.a"}, 1]}, {"all": [{"var": "calls.b"}, {"var": "args.c"}]}]}"#
            ),
            ["slots.a", "calls.b"]
        );
        assert_eq!(told(r#"{"var": ["$.results.x.y", 0]}"#), ["results.x"]);
        assert_eq!(told("true"), Vec::<String>::new());
    }
}
