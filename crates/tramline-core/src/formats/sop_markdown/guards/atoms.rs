//! The comparisons in a guard: which paths, with which constants. Anything else is not understood.

use crate::sop::Kind;
use std::collections::BTreeMap;
use tramline_expr::{Str, Value};

/// Stands for any text that no guard names.
pub(super) const OTHER: &str = "\u{1}other";
/// Guards nested deeper than this are not judged.
const DEPTH_MAX: usize = 32;

/// The constants that each path is compared with.
#[derive(Debug, Default)]
pub(super) struct Constants {
    paths: BTreeMap<Vec<Str>, Compared>,
}

/// What a path is compared with.
#[derive(Debug, Default)]
pub(super) struct Compared {
    values: Vec<Value>,
    /// Whether it is used as a truth value.
    is_truth: bool,
}

impl Constants {
    /// Adds the comparisons of a guard; nothing if it does anything else.
    pub(super) fn collect(&mut self, guard: &Value) -> Option<()> {
        match guard {
            Value::String(text) => {
                let tokens = tokens(text)?;
                let mut parser = Parser {
                    tokens: &tokens,
                    constants: self,
                    depth: 0,
                };
                parser.any()?;
                parser.tokens.is_empty().then_some(())
            }
            rule => self.logic(rule, 0),
        }
    }

    pub(super) fn into_paths(self) -> impl Iterator<Item = (Vec<Str>, Compared)> {
        self.paths.into_iter()
    }

    fn add(&mut self, path: Vec<Str>, value: Option<Value>) {
        let compared = self.paths.entry(path).or_default();
        match value {
            Some(value) => compared.values.push(value),
            None => compared.is_truth = true,
        }
    }

    /// The same of JSON Logic.
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
                self.add(variable(rule)?, None);
                Some(())
            }
            ("==" | "===" | "!=" | "!==" | "<" | "<=" | ">" | ">=", [left, right]) => {
                let (path, value) = match (variable(left), variable(right)) {
                    (Some(path), None) => (path, right),
                    (None, Some(path)) => (path, left),
                    _ => return None,
                };
                constant(value)?;
                self.add(path, Some(value.clone()));
                Some(())
            }
            ("in", [left, right]) => {
                let path = variable(left)?;
                for value in right.as_array()? {
                    constant(value)?;
                    self.add(path.clone(), Some(value.clone()));
                }
                Some(())
            }
            _ => None,
        }
    }
}

fn constant(value: &Value) -> Option<()> {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn variable(rule: &Value) -> Option<Vec<Str>> {
    let text = rule.get("var")?.as_str()?;
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(is_name);
    let parts: Vec<&str> = text.split('.').collect();
    let fits = parts.iter().all(|it| is_plain(it));
    fits.then(|| parts.into_iter().map(Into::into).collect())
}

impl Compared {
    /// The values that tell the comparisons apart; nothing if their kinds are mixed.
    pub(super) fn tried(mut self, slot: Option<(Kind, &[Value])>) -> Option<Vec<Value>> {
        if let Some((_, options)) = slot.filter(|(_, options)| !options.is_empty()) {
            return Some(options.to_vec());
        }
        let kind = slot.map(|(kind, _)| kind);
        let all = |fits: fn(&Value) -> bool| self.values.iter().all(fits);
        if all(|it| it.as_bool().is_some()) {
            return Some(vec![true.into(), false.into()]);
        }
        if self.is_truth {
            return None;
        }
        if all(|it| it.as_str().is_some()) {
            self.values.push(OTHER.into());
            return Some(self.values);
        }
        let numbers: Option<Vec<f64>> = self.values.iter().map(Value::as_f64).collect();
        let mut numbers = numbers?;
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let step = if kind == Some(Kind::Integer) {
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
enum Token {
    Path(Vec<Str>),
    Constant(Value),
    Sign(&'static str),
}

const SIGNS: [&str; 14] = [
    "!=", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", "$not", "$boolean", ".",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
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
                (Token::Constant(inside.into()), &rest[end + 1..])
            }
            c if c.is_ascii_digit() || c == '-' => {
                let end = rest[1..].find(|c: char| !c.is_ascii_digit() && c != '.');
                let end = end.map_or(rest.len(), |end| end + 1);
                let number: f64 = rest[..end].parse().ok()?;
                (Token::Constant(number.into()), &rest[end..])
            }
            c if is_name(c) => word(rest),
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
                (Token::Sign(sign), &rest[sign.len()..])
            }
        };
        found.push(token);
        rest = after.trim_start();
    }
    Some(found)
}

/// A path, or a word that means something.
fn word(rest: &str) -> (Token, &str) {
    let end = rest
        .find(|c: char| !is_name(c) && c != '.')
        .unwrap_or(rest.len());
    let (text, after) = rest.split_at(end);
    let token = match text {
        "and" => Token::Sign("and"),
        "or" => Token::Sign("or"),
        "in" => Token::Sign("in"),
        "true" => Token::Constant(true.into()),
        "false" => Token::Constant(false.into()),
        path => Token::Path(path.split('.').map(Into::into).collect()),
    };
    (token, after)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads `and`, `or`, `$not`, brackets and comparisons.
struct Parser<'a> {
    tokens: &'a [Token],
    constants: &'a mut Constants,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first.clone())
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        let is_next = self.tokens.first() == Some(&Token::Sign(sign));
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn any(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        self.part()?;
        while self.takes("and") || self.takes("or") {
            self.part()?;
        }
        self.depth -= 1;
        Some(())
    }

    fn part(&mut self) -> Option<()> {
        if self.takes("$not") || self.takes("$boolean") {
            let is_bracket = self.tokens.first() == Some(&Token::Sign("("));
            return is_bracket.then(|| self.part())?;
        }
        if self.takes("(") {
            self.any()?;
            return self.takes(")").then_some(());
        }
        let left = self.take()?;
        let signs = ["!=", "<=", ">=", "=", "<", ">"];
        if signs.into_iter().any(|sign| self.takes(sign)) {
            let (path, value) = match (left, self.take()?) {
                (Token::Path(path), Token::Constant(value))
                | (Token::Constant(value), Token::Path(path)) => (path, value),
                _ => return None,
            };
            self.constants.add(path, Some(value));
            return Some(());
        }
        let Token::Path(path) = left else { return None };
        if self.takes("in") {
            return self.list(path);
        }
        self.constants.add(path, None);
        Some(())
    }

    fn list(&mut self, path: Vec<Str>) -> Option<()> {
        if !self.takes("[") {
            return None;
        }
        loop {
            let Token::Constant(value) = self.take()? else {
                return None;
            };
            self.constants.add(path.clone(), Some(value));
            if !self.takes(",") {
                return self.takes("]").then_some(());
            }
        }
    }
}
