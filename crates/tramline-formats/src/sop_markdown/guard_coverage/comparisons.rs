//! Extracts the comparisons of a guard: paths and the constants they are compared with.

use std::collections::BTreeMap;
use tramline_expr::{Str, Value};
use tramline_workflow::sop::SlotKind;

/// Represents any string that no guard mentions.
pub(super) const OTHER_STRING: &str = "\u{1}other";
/// Deepest nesting of a checked guard, in levels: keeps recursion bounded.
const DEPTH_MAX: usize = 32;

/// The constants that each path is compared with.
#[derive(Debug, Default)]
pub(super) struct GuardConstants {
    paths: BTreeMap<Vec<Str>, ComparedConstants>,
}

/// The constants a path is compared with.
#[derive(Debug, Default)]
pub(super) struct ComparedConstants {
    values: Vec<Value>,
    /// Whether it is used as a boolean.
    is_boolean: bool,
}

impl GuardConstants {
    /// Adds the comparisons of a guard; `None` if the guard does anything else.
    pub(super) fn collect(&mut self, guard: &Value) -> Option<()> {
        match guard {
            Value::String(text) => {
                let tokens = tokens(text)?;
                let mut parser = GuardParser {
                    tokens: &tokens,
                    constants: self,
                    depth: 0,
                };
                parser.parse_expression()?;
                parser.tokens.is_empty().then_some(())
            }
            rule => self.logic(rule, 0),
        }
    }

    pub(super) fn into_paths(self) -> impl Iterator<Item = (Vec<Str>, ComparedConstants)> {
        self.paths.into_iter()
    }

    fn add(&mut self, path: Vec<Str>, value: Option<Value>) {
        let compared = self.paths.entry(path).or_default();
        match value {
            Some(value) => compared.values.push(value),
            None => compared.is_boolean = true,
        }
    }

    /// The same for JSON Logic.
    fn logic(&mut self, rule: &Value, depth: usize) -> Option<()> {
        let map = rule
            .as_object()
            .filter(|map| map.len() == 1 && depth < DEPTH_MAX)?;
        let (operator, below) = map.iter().next()?;
        let parts = match below.as_array() {
            Some(items) => items,
            None => std::slice::from_ref(below),
        };
        match (operator.as_str(), parts) {
            ("and" | "or", parts) => parts.iter().try_for_each(|it| self.logic(it, depth + 1)),
            ("!" | "!!", [part]) => self.logic(part, depth + 1),
            ("var", _) => {
                self.add(variable_path(rule)?, None);
                Some(())
            }
            ("==" | "===" | "!=" | "!==" | "<" | "<=" | ">" | ">=", [left, right]) => {
                let (path, value) = match (variable_path(left), variable_path(right)) {
                    (Some(path), None) => (path, right),
                    (None, Some(path)) => (path, left),
                    _ => return None,
                };
                require_constant(value)?;
                self.add(path, Some(value.clone()));
                Some(())
            }
            ("in", [left, right]) => {
                let path = variable_path(left)?;
                for value in right.as_array()? {
                    require_constant(value)?;
                    self.add(path.clone(), Some(value.clone()));
                }
                Some(())
            }
            _ => None,
        }
    }
}

fn require_constant(value: &Value) -> Option<()> {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn variable_path(rule: &Value) -> Option<Vec<Str>> {
    let text = rule.get("var")?.as_str()?;
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(is_name);
    let parts: Vec<&str> = text.split('.').collect();
    let fits = parts.iter().all(|it| is_plain(it));
    fits.then(|| parts.into_iter().map(Into::into).collect())
}

impl ComparedConstants {
    /// Values that distinguish the comparisons; `None` if the constants have mixed types.
    pub(super) fn sample_values(
        mut self,
        slot: Option<(SlotKind, &[Value])>,
    ) -> Option<Vec<Value>> {
        if let Some((_, options)) = slot.filter(|(_, options)| !options.is_empty()) {
            return Some(options.to_vec());
        }
        let kind = slot.map(|(kind, _)| kind);
        let all = |fits: fn(&Value) -> bool| self.values.iter().all(fits);
        if all(|it| it.as_bool().is_some()) {
            return Some(vec![true.into(), false.into()]);
        }
        if self.is_boolean {
            return None;
        }
        if all(|it| it.as_str().is_some()) {
            self.values.push(OTHER_STRING.into());
            return Some(self.values);
        }
        let numbers: Option<Vec<f64>> = self.values.iter().map(Value::as_f64).collect();
        let mut numbers = numbers?;
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let step = if kind == Some(SlotKind::Integer) {
            1.0
        } else {
            0.5
        };
        let mut tried: Vec<f64> = Vec::new();
        for number in numbers {
            tried.extend([number - step, number, number + step]);
        }
        tried.dedup();
        Some(tried.into_iter().map(Value::from).collect())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum GuardToken {
    Path(Vec<Str>),
    Constant(Value),
    Sign(&'static str),
}

const SIGNS: [&str; 14] = [
    "!=", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", "$not", "$boolean", ".",
];

fn tokens(text: &str) -> Option<Vec<GuardToken>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '"' | '\'' => {
                let end = rest[1..].find(first)? + 1;
                let inside = &rest[1..end];
                if inside.contains('\\') {
                    return None;
                }
                (GuardToken::Constant(inside.into()), &rest[end + 1..])
            }
            c if c.is_ascii_digit() || c == '-' => {
                let end = rest[1..].find(|c: char| !c.is_ascii_digit() && c != '.');
                let end = end.map_or(rest.len(), |end| end + 1);
                let number: f64 = rest[..end].parse().ok()?;
                (GuardToken::Constant(number.into()), &rest[end..])
            }
            c if is_name(c) => word_token(rest),
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
                (GuardToken::Sign(sign), &rest[sign.len()..])
            }
        };
        found.push(token);
        rest = after.trim_start();
    }
    Some(found)
}

/// A path or a keyword.
fn word_token(rest: &str) -> (GuardToken, &str) {
    let end = rest
        .find(|c: char| !is_name(c) && c != '.')
        .unwrap_or(rest.len());
    let (text, after) = rest.split_at(end);
    let token = match text {
        "and" => GuardToken::Sign("and"),
        "or" => GuardToken::Sign("or"),
        "in" => GuardToken::Sign("in"),
        "true" => GuardToken::Constant(true.into()),
        "false" => GuardToken::Constant(false.into()),
        path => GuardToken::Path(path.split('.').map(Into::into).collect()),
    };
    (token, after)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Parses `and`, `or`, `$not`, brackets and comparisons.
struct GuardParser<'a> {
    tokens: &'a [GuardToken],
    constants: &'a mut GuardConstants,
    depth: usize,
}

impl GuardParser<'_> {
    fn take(&mut self) -> Option<GuardToken> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first.clone())
    }

    fn accept(&mut self, sign: &'static str) -> bool {
        let is_next = self.tokens.first() == Some(&GuardToken::Sign(sign));
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn parse_expression(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        self.parse_operand()?;
        while self.accept("and") || self.accept("or") {
            self.parse_operand()?;
        }
        self.depth -= 1;
        Some(())
    }

    fn parse_operand(&mut self) -> Option<()> {
        if self.accept("$not") || self.accept("$boolean") {
            let is_bracket = self.tokens.first() == Some(&GuardToken::Sign("("));
            return is_bracket.then(|| self.parse_operand())?;
        }
        if self.accept("(") {
            self.parse_expression()?;
            return self.accept(")").then_some(());
        }
        let left = self.take()?;
        let signs = ["!=", "<=", ">=", "=", "<", ">"];
        if signs.into_iter().any(|sign| self.accept(sign)) {
            let (path, value) = match (left, self.take()?) {
                (GuardToken::Path(path), GuardToken::Constant(value))
                | (GuardToken::Constant(value), GuardToken::Path(path)) => (path, value),
                _ => return None,
            };
            self.constants.add(path, Some(value));
            return Some(());
        }
        let GuardToken::Path(path) = left else {
            return None;
        };
        if self.accept("in") {
            return self.parse_list(path);
        }
        self.constants.add(path, None);
        Some(())
    }

    fn parse_list(&mut self, path: Vec<Str>) -> Option<()> {
        if !self.accept("[") {
            return None;
        }
        loop {
            let GuardToken::Constant(value) = self.take()? else {
                return None;
            };
            self.constants.add(path.clone(), Some(value));
            if !self.accept(",") {
                return self.accept("]").then_some(());
            }
        }
    }
}
