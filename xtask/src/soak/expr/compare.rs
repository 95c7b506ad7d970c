//! How two outcomes compare, and the differences that are meant, each with its reason.

use super::generate::Case;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// How an evaluation ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Value(Value),
    Nothing,
    /// A coded error.
    Code(String),
    /// An error of JavaScript itself.
    Thrown(String),
    /// It took too long to wait for.
    GaveUp,
}

impl Outcome {
    /// Reads a line that one of the two programs printed.
    pub(super) fn read(line: &str) -> Result<Self> {
        let answer: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        Ok(if let Some(code) = text("code") {
            Self::Code(code)
        } else if let Some(message) = text("thrown") {
            Self::Thrown(message)
        } else if answer.get("gave_up").is_some() {
            Self::GaveUp
        } else {
            match answer.get("value") {
                Some(value) => Self::Value(value.clone()),
                None => Self::Nothing,
            }
        })
    }

    /// In short, for people.
    fn shown(&self) -> String {
        match self {
            Self::Value(value) => value.to_string().chars().take(160).collect(),
            Self::Nothing => "no value".to_owned(),
            Self::Code(code) => code.clone(),
            Self::Thrown(message) => format!("JavaScript: {message}"),
            Self::GaveUp => "too long".to_owned(),
        }
    }
}

/// Whether both end in the same value or in errors with the same code.
fn same(ours: &Outcome, reference: &Outcome) -> bool {
    match (ours, reference) {
        (Outcome::Value(ours), Outcome::Value(reference)) => equal(ours, reference),
        (Outcome::Nothing, Outcome::Nothing) => true,
        (Outcome::Code(ours), Outcome::Code(reference)) => ours == reference,
        _ => false,
    }
}

/// Equality of JSON: 1 and 1.0 are one number, the order of fields does not count.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let held = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(held)
        }
        _ => a == b,
    }
}

/// A difference that is meant. One that flows on into the rest of an expression may end in any way,
/// so it is known by what the expression holds.
struct Deviation {
    name: &'static str,
    reason: &'static str,
    applies: fn(&str, &Outcome, &Outcome) -> bool,
}

const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "the reference crashes with an error of JavaScript where there is a value here",
        reason: "it calls a method on what is not there, or runs out of stack",
        applies: |_, _, reference| matches!(reference, Outcome::Thrown(_)),
    },
    Deviation {
        name: "arguments of a built-in function given with `?`",
        reason: "they are not checked there; here a wrong type is an error, as in any call",
        applies: |source, _, _| source.contains("(?, "),
    },
    Deviation {
        name: "which of two errors is reported",
        reason: "the parts of an array or object run at once there, and the quickest error wins; \
                 here it is the first in the source",
        applies: |source, ours, reference| {
            matches!((ours, reference), (Outcome::Code(_), Outcome::Code(_)))
                && (source.contains('[') || source.contains('{'))
        },
    },
    Deviation {
        name: "`$base64encode` of text beyond Latin-1",
        reason: "the upper half of each unit is lost there; here the text is encoded as UTF-8",
        applies: |source, _, _| source.contains("$base64encode("),
    },
    Deviation {
        name: "a filter of no value in a step",
        reason: "what it takes are undefined items there; here no value has no items",
        applies: |source, _, _| source.contains("[[0..1]]") || source.contains("% ~> $keys)["),
    },
    Deviation {
        name: "a group-by of an empty array",
        reason: "it puts an undefined item into the input there; here the input never changes",
        applies: |source, _, _| source.contains("items{"),
    },
    Deviation {
        name: "the order of keys that look like numbers",
        reason: "they come first there; here keys stay in the order in which they were set",
        applies: |source, _, _| {
            let names = ["$keys(", "$each(", "$spread(", ").*"];
            names.iter().any(|name| source.contains(name))
        },
    },
    Deviation {
        name: "`$split` between the halves of a letter",
        reason: "letters beyond 16 bits come apart there; here text is Unicode",
        applies: |source, _, _| source.contains("$split("),
    },
    Deviation {
        name: "`$type` of what is not a number",
        reason: "it is an object there; here it is a number, as everywhere else",
        applies: |source, _, _| source.contains("$type("),
    },
    Deviation {
        name: "numbers in copies",
        reason: "`$clone` and transforms round to 15 digits there; here a copy is exact",
        applies: |source, _, _| source.contains("$clone(") || source.contains("~> |"),
    },
    Deviation {
        name: "`$formatNumber` and `$formatInteger` from 1e21 on",
        reason: "digits are cut from the text of the exponent there; here they are the number's",
        applies: |source, _, _| {
            source.contains("$formatNumber(") || source.contains("$formatInteger(")
        },
    },
    Deviation {
        name: "the last digit of `$power`",
        reason: "no two libraries agree on it",
        applies: |source, _, _| source.contains("$power("),
    },
];

/// What came of all cases.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Those that end in the same value, in no value or in errors of the same code.
    same: usize,
    /// Those that fail in both, there with an error of JavaScript that has no code to agree with.
    uncoded: usize,
    values: usize,
    gave_up: usize,
    meant: BTreeMap<usize, Vec<String>>,
    unexplained: BTreeMap<String, Vec<String>>,
}

impl Tally {
    pub(super) fn add(&mut self, case: &Case, ours: Outcome, reference: Outcome) {
        if matches!(reference, Outcome::GaveUp) {
            self.gave_up += 1;
            return;
        }
        if same(&ours, &reference) {
            self.same += 1;
            self.values += usize::from(matches!(ours, Outcome::Value(_)));
            return;
        }
        if let (Outcome::Code(_), Outcome::Thrown(_)) = (&ours, &reference) {
            self.uncoded += 1;
            return;
        }
        let line = format!(
            "{}\n      on {}\n      here {}, there {}",
            case.source,
            case.input,
            ours.shown(),
            reference.shown()
        );
        let known = DEVIATIONS
            .iter()
            .position(|known| (known.applies)(&case.source, &ours, &reference));
        match known {
            Some(at) => self.meant.entry(at).or_default().push(line),
            None => {
                let group = format!("here {}, there {}", sort(&ours), sort(&reference));
                self.unexplained.entry(group).or_default().push(line);
            }
        }
    }

    fn judged(&self) -> usize {
        let meant: usize = self.meant.values().map(Vec::len).sum();
        self.same + self.uncoded + meant + self.strange()
    }

    fn strange(&self) -> usize {
        self.unexplained.values().map(Vec::len).sum()
    }

    /// The share that ends alike; what is meant is a difference too.
    pub(super) fn share(&self) -> f64 {
        (self.same + self.uncoded) as f64 / self.judged().max(1) as f64
    }

    pub(super) fn print(&self, per_group: usize, unexplained: usize) {
        println!(
            "{} of {} expressions end as in the reference: {:.3} %",
            self.same + self.uncoded,
            self.judged(),
            self.share() * 100.0,
        );
        println!(
            "{} with a value, {} in failures that have no code there",
            self.values, self.uncoded
        );
        if self.gave_up > 0 {
            println!("{} not judged: the reference took too long", self.gave_up);
        }
        for (at, lines) in &self.meant {
            let Deviation { name, reason, .. } = &DEVIATIONS[*at];
            println!("  {:>4}  {name}: {reason}", lines.len());
            for line in lines.iter().take(per_group) {
                println!("      {line}");
            }
        }
        let mut left = unexplained;
        for (group, lines) in &self.unexplained {
            println!("  {:>4}  UNEXPLAINED: {group}", lines.len());
            for line in lines.iter().take(left.min(10)) {
                println!("      {line}");
            }
            left -= lines.len().min(left).min(10);
        }
    }
}

/// What groups outcomes that nobody has explained.
fn sort(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Value(_) => "a value".to_owned(),
        other => other.shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_and_compared() {
        let read = |line: &str| Outcome::read(line).unwrap();
        let value = read(r#"{"value":{"a":1,"b":[2]}}"#);
        assert!(same(&value, &read(r#"{"value":{"b":[2.0],"a":1}}"#)));
        assert!(!same(&value, &read("{}")));
        assert!(same(&read(r#"{"code":"T1"}"#), &read(r#"{"code":"T1"}"#)));
        assert!(!same(&read(r#"{"code":"T1"}"#), &read(r#"{"code":"T2"}"#)));
    }

    #[test]
    fn a_failure_in_both_is_alike_where_the_references_has_no_code() {
        let mut tally = Tally::default();
        let case = Case {
            source: "a".to_owned(),
            input: Value::Null,
        };
        let read = |line: &str| Outcome::read(line).unwrap();
        let thrown = r#"{"thrown":"no function"}"#;
        tally.add(&case, read(r#"{"code":"T1"}"#), read(thrown));
        assert_eq!(tally.share(), 1.0);
        tally.add(&case, read(r#"{"value":1}"#), read(thrown));
        assert_eq!(tally.share(), 0.5);
    }

    #[test]
    fn what_is_meant_is_listed_and_does_not_count_as_the_same() {
        let mut tally = Tally::default();
        let mut add = |source: &str, ours: &str, reference: &str| {
            let case = Case {
                source: source.to_owned(),
                input: Value::Null,
            };
            let read = |line: &str| Outcome::read(line).unwrap();
            tally.add(&case, read(ours), read(reference));
        };
        add("1", r#"{"value":1}"#, r#"{"value":1}"#);
        add("[a, b]", r#"{"code":"T1"}"#, r#"{"code":"T2"}"#);
        add(
            "$formatNumber(a, '0')",
            r#"{"value":"1"}"#,
            r#"{"value":"2"}"#,
        );
        add("a", "{}", r#"{"thrown":"no function"}"#);
        add("a", "{}", r#"{"gave_up":true}"#);
        add("a", "{}", r#"{"code":"T1"}"#);
        assert_eq!(tally.meant.keys().copied().collect::<Vec<_>>(), [0, 2, 10]);
        assert_eq!((tally.strange(), tally.gave_up), (1, 1));
        assert_eq!(tally.share(), 0.2);
    }
}
