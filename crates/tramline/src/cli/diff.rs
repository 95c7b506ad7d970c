//! The differences of two runs, for people: which steps are equal, which changed and where.

use super::output::{TextStyle, shorten, text_line};
use tramline_expr::Value;
use tramline_views::compare::{Comparison, StepDifference, ValueDifference};
use tramline_views::trace::Trace;
use tramline_workflow::node_kind::NodeKind;

/// Longer values are truncated unless `--full` is given, in characters.
const VALUE_CHARS_MAX: usize = 100;
const FIRST: TextStyle = TextStyle::Bad;
const SECOND: TextStyle = TextStyle::Good;
const CHANGED: TextStyle = TextStyle::Ask;

/// How many characters of a value are shown.
pub(super) fn chars_max(full: bool) -> usize {
    if full { usize::MAX } else { VALUE_CHARS_MAX }
}

/// Two runs and their differences.
pub(super) struct RunDiff<'a> {
    pub(super) first: &'a Trace,
    pub(super) second: &'a Trace,
    pub(super) comparison: &'a Comparison,
    /// The names of the two in the report.
    pub(super) names: [&'a str; 2],
    pub(super) most: usize,
}

impl RunDiff<'_> {
    /// Prints it.
    pub(super) fn show(&self) {
        let found = self.comparison;
        text_line(&format!("{FIRST}-{FIRST:#} {}", self.names[0]));
        text_line(&format!("{SECOND}+{SECOND:#} {}", self.names[1]));
        if let Some(forked) = found.forked {
            let (fork, other) = match forked.which {
                "first" => ("-", "+"),
                _ => ("+", "-"),
            };
            let seq = forked.seq;
            text_line(&format!("{fork} was forked from {other} after event {seq}"));
        }
        self.print_places("input", &found.input);
        let alike = self.equal_nodes();
        if !alike.is_empty() {
            text_line(&format!("= {}", alike.join(", ")));
        }
        for step in &found.steps {
            self.print_step(step);
        }
        self.print_places("outcome", &found.outcome);
        text_line(&summary(found));
    }

    /// The nodes of the equal steps, each once, with its count.
    fn equal_nodes(&self) -> Vec<String> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for step in &self.first.steps {
            match counts.iter_mut().find(|(node, _)| *node == step.node) {
                Some((_, count)) => *count += 1,
                None => counts.push((&step.node, 1)),
            }
        }
        for step in self
            .comparison
            .steps
            .iter()
            .filter(|step| is_in_first(step))
        {
            if let Some((_, count)) = counts.iter_mut().find(|(node, _)| *node == step.node) {
                *count -= 1;
            }
        }
        let alike = counts.iter().filter(|(_, count)| *count > 0);
        alike
            .map(|(node, count)| with_count(node, *count))
            .collect()
    }

    fn print_step(&self, step: &StepDifference) {
        let mut name = step.node.to_string();
        if step.visit > 1 {
            name.push_str(&format!(" (visit {})", step.visit));
        }
        if let Some(item) = step.item {
            name.push_str(&format!(" (item {item})"));
        }
        let trace = if is_in_first(step) {
            self.first
        } else {
            self.second
        };
        let tool = trace
            .steps
            .iter()
            .find(|other| other.node == step.node)
            .map_or("", |other| {
                other
                    .tool
                    .as_deref()
                    .unwrap_or_else(|| NodeKind::label_of(other.kind))
            });
        let (style, sign) = match step.how {
            "only in the first" => (FIRST, '-'),
            "only in the second" => (SECOND, '+'),
            _ => (CHANGED, '≠'),
        };
        text_line(&format!(
            "{style}{sign}{style:#} {name}  {tool}  {}",
            step.how
        ));
        for part in &step.parts {
            self.print_places(&format!("  {}", part.part), &part.places);
        }
    }

    fn print_places(&self, what: &str, places: &[ValueDifference]) {
        for place in places {
            text_line(format!("  {what} {}", place.at).trim_end());
            for (sign, style, value) in [('-', FIRST, &place.first), ('+', SECOND, &place.second)] {
                if let Some(value) = value {
                    let value =
                        failure(what, place, value).unwrap_or_else(|| shorten(value, self.most));
                    text_line(&format!("      {style}{sign} {value}{style:#}"));
                }
            }
        }
    }
}

/// A failure, formatted as in traces.
fn failure(what: &str, place: &ValueDifference, value: &Value) -> Option<String> {
    let is_failure = what.trim() == "error" || (what == "outcome" && place.at == "/error");
    let code = value.get("code").filter(|_| is_failure)?.as_str()?;
    let message = value.get("message")?.as_str()?;
    Some(format!("[{code}] {message}"))
}

fn is_in_first(step: &StepDifference) -> bool {
    step.how != "only in the second"
}

fn with_count(node: &str, count: usize) -> String {
    match count {
        1 => node.to_owned(),
        _ => format!("{node} ×{count}"),
    }
}

fn summary(found: &Comparison) -> String {
    let (mut changed, mut first, mut second) = (0, 0, 0);
    for step in &found.steps {
        match step.how {
            "only in the first" => first += 1,
            "only in the second" => second += 1,
            _ => changed += 1,
        }
    }
    let alike = match found.alike {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    };
    if found.same {
        return format!("the same: {alike} equal");
    }
    format!(
        "different: {alike} equal, {changed} changed, {first} only in the first, {second} only in the second"
    )
}
