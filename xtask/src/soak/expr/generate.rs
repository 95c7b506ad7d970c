//! Generates expressions and inputs for the comparison: random, from templates, the same for the
//! same seed.

use super::templates::{FIELDS, ValueKind, leaves, templates};
use serde_json::{Value, json};

/// How deep templates are nested.
const DEPTH: usize = 3;
/// One in this many placeholders gets an expression of another kind, as in real input.
const OTHER_KIND_ONE_IN: usize = 14;
/// Bytes of the longest expression; longer ones test nothing new.
const BYTES_MAX: usize = 600;

/// One expression with its input.
#[derive(Debug)]
pub(crate) struct ExprCase {
    pub(crate) source: String,
    pub(crate) input: Value,
}

/// A small pseudo-random number generator (splitmix64).
pub(crate) struct ExprGenerator(pub(crate) u64);

impl ExprGenerator {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.roll(list.len())).copied().unwrap_or("$")
    }

    /// The next case.
    pub(crate) fn case(&mut self) -> ExprCase {
        loop {
            let kind = ValueKind::ALL[self.roll(ValueKind::ALL.len())];
            let source = self.expression(kind, DEPTH);
            if source.len() <= BYTES_MAX {
                let input = self.input();
                return ExprCase { source, input };
            }
        }
    }

    fn expression(&mut self, kind: ValueKind, depth: usize) -> String {
        if depth == 0 || self.roll(8) == 0 {
            return self.pick(leaves(kind)).to_owned();
        }
        let template = self.pick(templates(kind));
        let mut source = String::new();
        let mut letters = template.chars();
        while let Some(letter) = letters.next() {
            if letter != '\\' {
                source.push(letter);
                continue;
            }
            match letters.next() {
                Some('F') => source.push_str(self.pick(FIELDS)),
                Some(mark) if mark.is_ascii_uppercase() => {
                    source.push_str(&self.part(mark, depth - 1));
                }
                // Part of a regular expression, such as `\w`.
                Some(other) => source.extend(['\\', other]),
                None => {}
            }
        }
        source
    }

    /// The expression for a placeholder. Without parentheses it may bind differently, which is
    /// tested too.
    fn part(&mut self, mark: char, depth: usize) -> String {
        let kind = match self.roll(OTHER_KIND_ONE_IN) {
            0 => ValueKind::ALL[self.roll(ValueKind::ALL.len())],
            _ => ValueKind::of(mark),
        };
        let part = self.expression(kind, depth);
        let plain = part
            .chars()
            .all(|letter| letter.is_alphanumeric() || "$._".contains(letter));
        if plain || self.roll(3) == 0 {
            part
        } else {
            format!("({part})")
        }
    }

    fn input(&mut self) -> Value {
        let items: Vec<Value> = (0..self.roll(5)).map(|at| self.item(at)).collect();
        let mut input = json!({
            "a": self.number(),
            "k": self.number(),
            "s": self.text(),
            "word": self.text(),
            "t": self.roll(2) == 0,
            "n": null,
            "b": (0..self.roll(5)).map(|_| self.number()).collect::<Vec<_>>(),
            "names": (0..self.roll(4)).map(|_| self.text()).collect::<Vec<_>>(),
            "z": [],
            "o": {},
            "nest": [[1, 2], [self.number()], []],
            "c": { "d": self.text(), "n": self.number(), "e": [{ "f": 1, "g": "p" }, { "f": self.number() }] },
            "items": items,
        });
        match self.roll(12) {
            0 => input["items"] = self.item(0),
            1 => input = input["items"].take(),
            2 => input["b"] = self.number(),
            3 => input["c"] = Value::Array(vec![input["c"].clone(), input["c"].clone()]),
            _ => {}
        }
        input
    }

    fn item(&mut self, at: usize) -> Value {
        let tags = ["new", "old", "red"];
        let mut item = json!({
            "id": at + 1,
            "name": self.text(),
            "price": self.number(),
            "qty": self.roll(4),
            "tags": tags[..self.roll(4)].to_vec(),
        });
        if self.roll(6) == 0 {
            item["price"] = Value::Null;
        }
        if self.roll(6) == 0
            && let Some(fields) = item.as_object_mut()
        {
            fields.remove("qty");
        }
        item
    }

    fn number(&mut self) -> Value {
        match self.roll(6) {
            0 => json!(-(self.roll(9) as i64)),
            1 => json!(self.roll(100_000) as f64 / 8.0),
            2 => json!(self.roll(1_000) as f64 / 100.0),
            _ => json!(self.roll(20)),
        }
    }

    fn text(&mut self) -> Value {
        json!(self.pick(&[
            "hello world",
            "a-b-c",
            "Ada King",
            "x",
            "",
            "12",
            "3.50",
            "tools",
            "  two  words ",
            "2026-03-01T10:20:30.456Z",
            "é😀z",
            "red",
            "true",
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_cases() {
        let sources = |seed| {
            let mut dice = ExprGenerator(seed);
            (0..50)
                .map(|_| dice.case())
                .map(|case| format!("{} {}", case.source, case.input))
                .collect::<Vec<_>>()
        };
        assert_eq!(sources(7), sources(7));
        assert_ne!(sources(7), sources(8));
        // No placeholder is left; any other backslash is an escape or part of a regular expression.
        let is_mark = |pair: &[u8]| pair[0] == b'\\' && pair[1].is_ascii_uppercase();
        for source in sources(7) {
            assert!(!source.as_bytes().windows(2).any(is_mark), "{source}");
        }
    }
}
