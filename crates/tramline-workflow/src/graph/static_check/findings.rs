//! Words findings in expressions as problems, with the name that was probably meant.

use super::StaticChecker;
use crate::flaw::FlawCode;
use crate::graph::problem::ReferencedName;
use crate::graph::{NodePart, Problem, ProblemLocation};
use crate::scope;
use crate::text::{display_name, nearest, resembles};
use crate::workflow::{Action, UnhandledFailure};
use tramline_expr::{Finding, FindingKind, Str, Value, function_names};

/// Names listed in a message.
const NAMES_SHOWN: usize = 12;

/// Words for the input that documents of other systems use.
const INPUT_WORDS: [&str; 9] = [
    "input",
    "inputs",
    "arg",
    "args",
    "arguments",
    "param",
    "params",
    "parameters",
    "entry",
];

/// Functions of other languages, and what they are called here.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("len", "count"),
    ("size", "count"),
    ("upper", "uppercase"),
    ("toupper", "uppercase"),
    ("touppercase", "uppercase"),
    ("lower", "lowercase"),
    ("tolower", "lowercase"),
    ("tolowercase", "lowercase"),
    ("avg", "average"),
    ("mean", "average"),
    ("concat", "join"),
    ("includes", "contains"),
    ("parseint", "number"),
    ("tonumber", "number"),
    ("tostring", "string"),
    ("stringify", "string"),
    ("unique", "distinct"),
    ("ceiling", "ceil"),
];

/// Words of other languages, and what they are called here.
const OTHER_WORDS: [(&str, &str); 5] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("nil", "null"),
    ("undefined", "null"),
];

/// Fields that lists have in other languages.
const COUNT_WORDS: [&str; 4] = ["length", "size", "count", "len"];

/// A problem before it has a place.
struct Worded {
    code: FlawCode,
    message: String,
    suggestion: String,
}

impl StaticChecker<'_> {
    pub(super) fn report_finding(
        &mut self,
        finding: Finding,
        source: &str,
        part: NodePart,
        pointer: &str,
    ) {
        let Some(mut worded) = self.word(&finding) else {
            return;
        };
        let mut finding = finding;
        self.improve(&mut worded, &mut finding, source);
        let of = match &finding.kind {
            FindingKind::UnknownField { of, .. } | FindingKind::NotAnObject { of, .. } => {
                of.clone()
            }
            FindingKind::UnknownFunction
            | FindingKind::UnknownVariable(_)
            | FindingKind::UnknownRoot
            | FindingKind::NotYet
            | FindingKind::TextSum
            | FindingKind::HostArgument(_) => String::new(),
        };
        let mut span = finding.span;
        let quote = |at: usize| matches!(source.as_bytes().get(at), Some(b'"' | b'\'' | b'`'));
        // The name alone, so that it can be replaced.
        if span.len() > 2 && quote(span.start) && quote(span.end - 1) {
            span = span.start + 1..span.end - 1;
        }
        self.problems.push(Problem {
            code: worded.code,
            location: ProblemLocation::Inside {
                node: self.node,
                part,
                pointer: pointer.to_owned(),
                span: Some(span),
                name: Some(ReferencedName {
                    of,
                    name: finding.name,
                }),
            },
            message: worded.message,
            suggestion: (!worded.suggestion.is_empty()).then_some(worded.suggestion),
            meant: None,
        });
    }

    fn word(&self, finding: &Finding) -> Option<Worded> {
        let name = finding.name.as_str();
        let shown = display_name(name);
        Some(match &finding.kind {
            FindingKind::UnknownFunction => Worded {
                code: FlawCode::UnknownVariable,
                message: format!("there is no function `${shown}`"),
                suggestion: match nearest_function(name) {
                    Some(near) => format!("did you mean `${near}`?"),
                    None => "docs/expressions.md lists the functions".to_owned(),
                },
            },
            FindingKind::UnknownVariable(known) => {
                let names = known.iter().map(Str::as_str);
                let near = nearest(name, names).or_else(|| nearest_function(name));
                Worded {
                    code: FlawCode::UnknownVariable,
                    message: format!("there is no variable `${shown}`"),
                    suggestion: match near {
                        Some(near) => format!("did you mean `${near}`?"),
                        None => format!(
                            "set it with `${shown} := …`, or write `{{value: \"$…\"}}` if it is \
                             just text"
                        ),
                    },
                }
            }
            FindingKind::UnknownRoot => self.unknown_node(name),
            FindingKind::HostArgument(_) => match self.graph.find(name) {
                Some(_) => return None,
                None => self.unknown_node(name),
            },
            FindingKind::NotYet => self.not_yet(name),
            FindingKind::TextSum => Worded {
                code: FlawCode::BadExpression,
                message: "`+` adds numbers, and this is text".to_owned(),
                suggestion: "write `&`".to_owned(),
            },
            FindingKind::UnknownField { of, known, certain } => {
                return unknown_field(finding, of, known, *certain);
            }
            FindingKind::NotAnObject { .. } if finding.guarded => return None,
            FindingKind::NotAnObject { of, kind } => Worded {
                code: FlawCode::UnknownOutputField,
                message: format!("`{of}` is {kind} and has no field `{shown}`"),
                suggestion: format!("use `{of}` without `.{shown}`"),
            },
        })
    }

    /// Improves a suggestion with the source around the name.
    fn improve(&self, worded: &mut Worded, finding: &mut Finding, source: &str) {
        let after = source.get(finding.span.end..).unwrap_or_default();
        match &finding.kind {
            // A function without its sign.
            FindingKind::UnknownRoot if after.trim_start().starts_with('(') => {
                if let Some(near) = nearest_function(&finding.name) {
                    let name = display_name(&finding.name);
                    worded.code = FlawCode::UnknownVariable;
                    worded.message = format!("`{name}` is not a function");
                    worded.suggestion = format!("did you mean `${near}`?");
                }
            }
            FindingKind::UnknownRoot => {
                let other = OTHER_WORDS
                    .iter()
                    .find(|(theirs, _)| *theirs == finding.name);
                if let Some((_, ours)) = other {
                    worded.suggestion = format!("did you mean `{ours}`?");
                }
            }
            FindingKind::NotYet => {
                if let Some(earlier) = self.earlier_node(source, finding.span.end) {
                    let is_of_tasks =
                        self.graph.workflow.unhandled == UnhandledFailure::SkipsDependents;
                    if !is_of_tasks {
                        worded.suggestion = format!("did you mean `{earlier}`?");
                    }
                }
            }
            FindingKind::UnknownField { of, .. } | FindingKind::NotAnObject { of, .. } => {
                let is_count = COUNT_WORDS.contains(&finding.name.as_str());
                let before = source.get(..finding.span.start).unwrap_or_default();
                let value = before
                    .strip_suffix('.')
                    .filter(|value| value.ends_with(of.as_str()));
                // Text has a length, a list a count.
                if is_count && let Some(value) = value {
                    worded.suggestion = format!("write `$count({of})`");
                    finding.span.start = value.len() - of.len();
                    finding.name = source[finding.span.clone()].into();
                }
            }
            FindingKind::UnknownFunction
            | FindingKind::UnknownVariable(_)
            | FindingKind::TextSum
            | FindingKind::HostArgument(_) => {}
        }
    }

    fn unknown_node(&self, name: &str) -> Worded {
        let workflow = &self.graph.workflow;
        let mut nodes = workflow.nodes.iter();
        let entry = nodes.find(|node| node.action == Action::Entry);
        let inputs = workflow.input_schema.as_ref();
        let inputs = inputs.and_then(|schema| schema.get("properties"));
        let inputs = inputs.and_then(Value::as_object);
        let inputs = || {
            inputs
                .into_iter()
                .flat_map(|map| map.keys())
                .map(Str::as_str)
        };
        let ids = || workflow.nodes.iter().map(|node| node.id.as_str());
        let of_entry = |input: &str| entry.map(|entry| format!("{}.{input}", entry.id));
        let exact = inputs().find(|input| *input == name).and_then(of_entry);
        let word = INPUT_WORDS.contains(&name.to_lowercase().as_str());
        let word = entry.filter(|_| word).map(|entry| entry.id.to_string());
        let near = || nearest(name, ids()).map(str::to_owned);
        let near_input = || nearest(name, inputs()).and_then(of_entry);
        let meant = exact.or(word).or_else(near).or_else(near_input);
        Worded {
            code: FlawCode::UnknownNode,
            message: format!("there is no node `{}`", display_name(name)),
            suggestion: match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the nodes are {}", listed(ids())),
            },
        }
    }

    fn not_yet(&self, name: &str) -> Worded {
        let here = display_name(&self.graph.node(self.node).id);
        let name = display_name(name);
        let of_tasks = self.graph.workflow.unhandled == UnhandledFailure::SkipsDependents;
        match of_tasks {
            true => Worded {
                code: FlawCode::NotYetRun,
                message: format!("`{here}` does not wait for `{name}`"),
                suggestion: format!("add `{name}` to its `depends_on`"),
            },
            false if here == name => Worded {
                code: FlawCode::NotYetRun,
                message: format!("`{here}` refers to its own output, which does not exist yet"),
                suggestion: "refer to a node that runs before it".to_owned(),
            },
            false => Worded {
                code: FlawCode::NotYetRun,
                message: format!("`{name}` cannot have run before `{here}`"),
                suggestion: format!(
                    "connect `{name}` so that it runs before `{here}`, or refer to an earlier node"
                ),
            },
        }
    }
}

fn unknown_field(finding: &Finding, of: &str, known: &[Str], certain: bool) -> Option<Worded> {
    let name = finding.name.as_str();
    let near = nearest(name, known.iter().map(Str::as_str));
    let is_typo = near.is_some_and(|near| resembles(name, near));
    let code = match (certain, is_typo) {
        // A missing value is provided for, so only a typo is a mistake.
        (_, false) if finding.guarded => return None,
        (true, _) | (_, true) => FlawCode::UnknownOutputField,
        (false, false) => FlawCode::UndeclaredField,
    };
    let has = match known {
        [] => "nothing".to_owned(),
        known => listed(known.iter().map(Str::as_str)),
    };
    Some(Worded {
        code,
        message: format!("`{of}` has no field `{}`; it has {has}", display_name(name)),
        suggestion: match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {has}"),
        },
    })
}

/// The function that a name, without its `$`, was probably meant to be.
pub fn nearest_function(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == lower);
    other.map(|(_, ours)| *ours).or_else(|| {
        let host = scope::functions().names().iter().copied();
        nearest(name, function_names().chain(host))
    })
}

/// Names for a message, cut if there are many.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.map(display_name);
    let shown: Vec<_> = names.by_ref().take(NAMES_SHOWN).collect();
    let more = names.count();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
