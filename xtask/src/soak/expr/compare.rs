//! Compares two outcomes, and lists the intended differences with their reasons.

use super::generate::ExprCase;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// How an evaluation ended.
#[derive(Clone, Debug)]
pub(super) enum EvalOutcome {
    Value(Value),
    Nothing,
    /// A coded error.
    Code(String),
    /// A JavaScript error without a code.
    Thrown(String),
    /// It took too long.
    GaveUp,
}

impl EvalOutcome {
    /// Parses a line printed by one of the two programs.
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

    /// A short form for display.
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
fn same(ours: &EvalOutcome, reference: &EvalOutcome) -> bool {
    match (ours, reference) {
        (EvalOutcome::Value(ours), EvalOutcome::Value(reference)) => equal(ours, reference),
        (EvalOutcome::Nothing, EvalOutcome::Nothing) => true,
        (EvalOutcome::Code(ours), EvalOutcome::Code(reference)) => ours == reference,
        _ => false,
    }
}

/// JSON equality: 1 and 1.0 are equal, the order of fields does not count.
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

/// An intended difference. A difference inside an expression may change its outcome in any way, so
/// it is recognised by what the expression contains.
struct Deviation {
    name: &'static str,
    reason: &'static str,
    applies: fn(&str, &EvalOutcome, &EvalOutcome) -> bool,
}

const DEVIATIONS: &[Deviation] = &[
    Deviation {
        name: "the reference throws a JavaScript error where we return a value",
        reason: "it calls a method on undefined, or overflows the stack",
        applies: |_, _, reference| matches!(reference, EvalOutcome::Thrown(_)),
    },
    Deviation {
        name: "arguments of a built-in function partially applied with `?`",
        reason: "the reference does not check them; here a wrong type is an error, as in any call",
        applies: |source, _, _| source.contains("(?, "),
    },
    Deviation {
        name: "which of two errors is reported",
        reason: "the reference evaluates the parts of an array or object concurrently, and the fastest error wins; \
                 here the first in the source wins",
        applies: |source, ours, reference| {
            matches!(
                (ours, reference),
                (EvalOutcome::Code(_), EvalOutcome::Code(_))
            ) && (source.contains('[') || source.contains('{'))
        },
    },
    Deviation {
        name: "`$base64encode` of text beyond Latin-1",
        reason: "the reference drops the upper half of each unit; here the text is encoded as UTF-8",
        applies: |source, _, _| source.contains("$base64encode("),
    },
    Deviation {
        name: "a filter of undefined in a step",
        reason: "it selects undefined items in the reference; here undefined has no items",
        applies: |source, _, _| source.contains("[[0..1]]") || source.contains("% ~> $keys)["),
    },
    Deviation {
        name: "a group-by of an empty array",
        reason: "the reference puts an undefined item into the input; here the input never changes",
        applies: |source, _, _| source.contains("items{"),
    },
    Deviation {
        name: "the order of keys that look like numbers",
        reason: "they come first in the reference; here keys stay in insertion order",
        applies: |source, _, _| {
            let names = ["$keys(", "$each(", "$spread(", ").*"];
            names.iter().any(|name| source.contains(name))
        },
    },
    Deviation {
        name: "`$split` inside a surrogate pair",
        reason: "the reference splits characters beyond 16 bits; here text is Unicode",
        applies: |source, _, _| source.contains("$split("),
    },
    Deviation {
        name: "`$type` of NaN",
        reason: "it is an object in the reference; here it is a number, as everywhere else",
        applies: |source, _, _| source.contains("$type("),
    },
    Deviation {
        name: "numbers in copies",
        reason: "`$clone` and transforms round to 15 digits in the reference; here a copy is exact",
        applies: |source, _, _| source.contains("$clone(") || source.contains("~> |"),
    },
    Deviation {
        name: "`$formatNumber` and `$formatInteger` from 1e21 on",
        reason: "the reference takes digits from the text of the exponent; here they are the number's",
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

/// The results of all cases.
#[derive(Debug, Default)]
pub(super) struct ComparisonTally {
    /// Cases with the same value, no value in both, or errors with the same code.
    same: usize,
    /// Cases that fail in both, in the reference with a JavaScript error that has no code to
    /// compare.
    uncoded: usize,
    values: usize,
    gave_up: usize,
    intended: BTreeMap<usize, Vec<String>>,
    unexplained: BTreeMap<String, Vec<String>>,
}

impl ComparisonTally {
    pub(super) fn add(&mut self, case: &ExprCase, ours: EvalOutcome, reference: EvalOutcome) {
        if matches!(reference, EvalOutcome::GaveUp) {
            self.gave_up += 1;
            return;
        }
        if same(&ours, &reference) {
            self.same += 1;
            self.values += usize::from(matches!(ours, EvalOutcome::Value(_)));
            return;
        }
        if let (EvalOutcome::Code(_), EvalOutcome::Thrown(_)) = (&ours, &reference) {
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
            Some(at) => self.intended.entry(at).or_default().push(line),
            None => {
                let group = format!(
                    "here {}, there {}",
                    outcome_group(&ours),
                    outcome_group(&reference)
                );
                self.unexplained.entry(group).or_default().push(line);
            }
        }
    }

    fn compared_count(&self) -> usize {
        let meant: usize = self.intended.values().map(Vec::len).sum();
        self.same + self.uncoded + meant + self.unexplained_count()
    }

    fn unexplained_count(&self) -> usize {
        self.unexplained.values().map(Vec::len).sum()
    }

    /// The share of equal outcomes; intended differences do not count as equal.
    pub(super) fn share(&self) -> f64 {
        (self.same + self.uncoded) as f64 / self.compared_count().max(1) as f64
    }

    pub(super) fn print(&self, per_group: usize, unexplained: usize) {
        println!(
            "{} of {} expressions have the outcome of the reference: {:.3} %",
            self.same + self.uncoded,
            self.compared_count(),
            self.share() * 100.0,
        );
        println!(
            "{} with a value, {} with errors that have no code in the reference",
            self.values, self.uncoded
        );
        if self.gave_up > 0 {
            println!("{} not judged: the reference took too long", self.gave_up);
        }
        for (at, lines) in &self.intended {
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

/// The group of an unexplained outcome.
fn outcome_group(outcome: &EvalOutcome) -> String {
    match outcome {
        EvalOutcome::Value(_) => "a value".to_owned(),
        other => other.shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_and_compared() {
        let read = |line: &str| EvalOutcome::read(line).unwrap();
        let value = read(r#"{"value":{"a":1,"b":[2]}}"#);
        assert!(same(&value, &read(r#"{"value":{"b":[2.0],"a":1}}"#)));
        assert!(!same(&value, &read("{}")));
        assert!(same(&read(r#"{"code":"T1"}"#), &read(r#"{"code":"T1"}"#)));
        assert!(!same(&read(r#"{"code":"T1"}"#), &read(r#"{"code":"T2"}"#)));
    }

    #[test]
    fn a_failure_in_both_is_alike_where_the_references_has_no_code() {
        let mut tally = ComparisonTally::default();
        let case = ExprCase {
            source: "a".to_owned(),
            input: Value::Null,
        };
        let read = |line: &str| EvalOutcome::read(line).unwrap();
        let thrown = r#"{"thrown":"no function"}"#;
        tally.add(&case, read(r#"{"code":"T1"}"#), read(thrown));
        assert_eq!(tally.share(), 1.0);
        tally.add(&case, read(r#"{"value":1}"#), read(thrown));
        assert_eq!(tally.share(), 0.5);
    }

    #[test]
    fn what_is_meant_is_listed_and_does_not_count_as_the_same() {
        let mut tally = ComparisonTally::default();
        let mut add = |source: &str, ours: &str, reference: &str| {
            let case = ExprCase {
                source: source.to_owned(),
                input: Value::Null,
            };
            let read = |line: &str| EvalOutcome::read(line).unwrap();
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
        assert_eq!(
            tally.intended.keys().copied().collect::<Vec<_>>(),
            [0, 2, 10]
        );
        assert_eq!((tally.unexplained_count(), tally.gave_up), (1, 1));
        assert_eq!(tally.share(), 0.2);
    }
}
