//! Matches on events: every one of them has to be looked at when an event is added, so they are
//! counted, and none may have a wildcard arm.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::Path;

/// The enums of the events in a journal.
const EVENTS: [&str; 2] = ["RunEvent::", "SopEvent::"];

/// What would hide a match from the count.
const ALIASES: [&str; 4] = ["RunEvent as ", "SopEvent as ", "RunEvent::*", "SopEvent::*"];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let mut count = 0;
    for path in paths::files(&root.join("crates"), "rs")? {
        let place = paths::relative(root, &path);
        if !place.contains("/src/") || place.contains("/tests/") || place.ends_with("/tests.rs") {
            continue;
        }
        let text = paths::read(&path)?;
        if ALIASES.iter().any(|alias| text.contains(alias)) {
            found.problem(&place, "an alias of an event enum hides matches on events");
        }
        let text = text.split("#[cfg(test)]\nmod tests {").next();
        for (line, arms) in matches_on_events(text.unwrap_or_default()) {
            count += 1;
            if arms.iter().any(|arm| is_wildcard(arm)) {
                let place = format!("{place}:{line}");
                found.problem(
                    &place,
                    "a match on events has a wildcard arm: list the events",
                );
            }
        }
    }
    found.note("measure", format!("matches on events: {count}"));
    Ok(())
}

/// The `match` expressions of a formatted file with an arm for an event: their lines and arms.
fn matches_on_events(text: &str) -> Vec<(usize, Vec<String>)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let opens = line.contains("match ") && line.ends_with('{') && !line.contains("//");
        if !opens {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let rest = lines[at + 1..].iter();
        let body = rest
            .take_while(|line| line.is_empty() || line.len() - line.trim_start().len() > indent);
        let arms = arms(body.copied(), indent + 4);
        if arms
            .iter()
            .any(|arm| EVENTS.iter().any(|event| arm.contains(event)))
        {
            found.push((at + 1, arms));
        }
    }
    found
}

/// The patterns of the arms at one depth of indentation.
fn arms<'a>(body: impl Iterator<Item = &'a str>, indent: usize) -> Vec<String> {
    let mut arms = Vec::new();
    let mut pattern = String::new();
    let mut in_pattern = true;
    for line in body {
        let depth = line.len() - line.trim_start().len();
        if depth == indent && !line.trim_start().starts_with(['}', ')', '|']) {
            in_pattern = true;
            pattern.clear();
        }
        if in_pattern {
            let (start, ends) = match line.split_once(" =>") {
                Some((start, _)) => (start, true),
                None => (line, false),
            };
            pattern.push_str(start.trim());
            if ends {
                arms.push(pattern.clone());
                in_pattern = false;
            }
        }
    }
    arms
}

/// Whether a pattern accepts any event of a kind without naming it.
fn is_wildcard(arm: &str) -> bool {
    let pattern = arm.split(" if ").next().unwrap_or_default();
    pattern == "_" || pattern.ends_with("| _")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_on_events_are_found_with_their_arms() {
        let text = "fn f() {\n    match event {\n        RunEvent::A { x } => {\n            g()\n        }\n        \
            _ => {}\n    }\n    match other {\n        Some(_) => {}\n        None => {}\n    }\n}\n";
        let found = matches_on_events(text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0],
            (2, vec!["RunEvent::A { x }".to_owned(), "_".to_owned()])
        );
        assert!(is_wildcard("_"));
        assert!(!is_wildcard("Event::Run(_)"));
    }
}
