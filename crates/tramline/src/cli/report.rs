//! How two runs differ, for people: which steps are alike, which changed and where.

use super::output::{Paint, brief, text_line};
use tramline_core::Value;
use tramline_core::compare::{Comparison, Difference, Place};
use tramline_core::trace::Trace;

/// Values longer than this are cut unless asked for whole.
const VALUE_CHARS_MAX: usize = 100;
const FIRST: Paint = Paint::Bad;
const SECOND: Paint = Paint::Good;
const CHANGED: Paint = Paint::Ask;

/// How many characters of a value are shown.
pub(super) fn chars_max(full: bool) -> usize {
    if full { usize::MAX } else { VALUE_CHARS_MAX }
}

/// Two runs with what differs.
pub(super) struct Report<'a> {
    pub(super) first: &'a Trace,
    pub(super) second: &'a Trace,
    pub(super) comparison: &'a Comparison,
    /// What the two are called here.
    pub(super) names: [&'a str; 2],
    pub(super) most: usize,
}

impl Report<'_> {
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
            text_line(&format!(
                "{fork} branched off from {other} after event {seq}"
            ));
        }
        self.places("input", &found.input);
        let alike = self.alike();
        if !alike.is_empty() {
            text_line(&format!("= {}", alike.join(", ")));
        }
        for step in &found.steps {
            self.step(step);
        }
        self.places("outcome", &found.outcome);
        text_line(&summary(found));
    }

    /// The nodes of the steps that are alike, each once, with how many they are.
    fn alike(&self) -> Vec<String> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for step in &self.first.steps {
            match counts.iter_mut().find(|(node, _)| *node == step.node) {
                Some((_, count)) => *count += 1,
                None => counts.push((&step.node, 1)),
            }
        }
        for step in self.comparison.steps.iter().filter(|step| in_first(step)) {
            if let Some((_, count)) = counts.iter_mut().find(|(node, _)| *node == step.node) {
                *count -= 1;
            }
        }
        let alike = counts.iter().filter(|(_, count)| *count > 0);
        alike.map(|(node, count)| times(node, *count)).collect()
    }

    fn step(&self, step: &Difference) {
        let mut name = step.node.to_string();
        if step.visit > 1 {
            name.push_str(&format!(" (visit {})", step.visit));
        }
        if let Some(item) = step.item {
            name.push_str(&format!(" (item {item})"));
        }
        let trace = if in_first(step) {
            self.first
        } else {
            self.second
        };
        let tool = trace
            .steps
            .iter()
            .find(|other| other.node == step.node)
            .map_or("", |other| other.tool.as_deref().unwrap_or(other.kind));
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
            self.places(&format!("  {}", part.part), &part.places);
        }
    }

    fn places(&self, what: &str, places: &[Place]) {
        for place in places {
            text_line(format!("  {what} {}", place.at).trim_end());
            for (sign, style, value) in [('-', FIRST, &place.first), ('+', SECOND, &place.second)] {
                if let Some(value) = value {
                    let value =
                        failure(what, place, value).unwrap_or_else(|| brief(value, self.most));
                    text_line(&format!("      {style}{sign} {value}{style:#}"));
                }
            }
        }
    }
}

/// A failure, in the words in which runs tell it.
fn failure(what: &str, place: &Place, value: &Value) -> Option<String> {
    let is_failure = what.trim() == "error" || (what == "outcome" && place.at == "/error");
    let code = value.get("code").filter(|_| is_failure)?.as_str()?;
    let message = value.get("message")?.as_str()?;
    Some(format!("[{code}] {message}"))
}

fn in_first(step: &Difference) -> bool {
    step.how != "only in the second"
}

fn times(node: &str, count: usize) -> String {
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
        return format!("the same: {alike} alike");
    }
    format!(
        "different: {alike} alike, {changed} changed, {first} only in the first, {second} only in the second"
    )
}
