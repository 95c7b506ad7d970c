//! The glossary has an entry for every core term, and the types it names exist.
//!
//! An entry has the form `- **Word** (`Type`): what it is.` The table at the end lists words that
//! are not used and their replacements; no type may have one of these names.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::Path;

const GLOSSARY: &str = "GLOSSARY.md";

/// The core terms of the project.
const CORE_TERMS: [&str; 26] = [
    "Workflow",
    "Graph",
    "Node",
    "Edge",
    "Label",
    "Join",
    "Action",
    "Run",
    "Step",
    "Layer",
    "Journal",
    "Event",
    "Checkpoint",
    "Pause",
    "Patch",
    "Tool",
    "Server",
    "Registry",
    "Library",
    "Planner",
    "Scope",
    "Trace",
    "Session",
    "Flaw",
    "Failure",
    "Fault",
];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let Ok(text) = paths::read(&root.join(GLOSSARY)) else {
        return Ok(());
    };
    let types = types(root)?;
    let entries: Vec<_> = text.lines().filter_map(entry).collect();
    for word in CORE_TERMS
        .iter()
        .filter(|word| !entries.iter().any(|(known, _)| known == *word))
    {
        found.problem(GLOSSARY, format!("`{word}` has no entry"));
    }
    for (word, named) in &entries {
        for name in named
            .iter()
            .filter(|name| !types.iter().any(|known| known == *name))
        {
            found.problem(
                GLOSSARY,
                format!("**{word}** names `{name}`, which is not one of our types"),
            );
        }
    }
    for (unused, instead) in text.lines().filter_map(unused_word) {
        if types.contains(&unused) {
            found.problem(
                GLOSSARY,
                format!("a type is called `{unused}`; use {instead}"),
            );
        }
    }
    Ok(())
}

/// The term of an entry, and the types in parentheses after it.
fn entry(line: &str) -> Option<(&str, Vec<&str>)> {
    let (word, rest) = line.strip_prefix("- **")?.split_once("**")?;
    let named = match rest.trim_start().strip_prefix('(') {
        Some(inside) => inside
            .split(')')
            .next()?
            .split('`')
            .skip(1)
            .step_by(2)
            .collect(),
        None => Vec::new(),
    };
    let last = |name: &'_ str| name.rfind("::").map_or(0, |at| at + 2);
    Some((
        word,
        named
            .into_iter()
            .map(|name: &str| &name[last(name)..])
            .collect(),
    ))
}

/// A row `| `Word` | replacement |` of the table of unused words.
fn unused_word(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
    let unused = cells.next()?.trim_end_matches('`').to_owned();
    Some((unused, cells.next()?.to_owned()))
}

/// The names of all types, traits and modules in the crates.
fn types(root: &Path) -> Result<Vec<String>> {
    const KINDS: [&str; 5] = [
        "pub struct ",
        "pub enum ",
        "pub trait ",
        "pub type ",
        "pub mod ",
    ];
    let mut names = Vec::new();
    for path in paths::files(&root.join("crates"), "rs")? {
        for line in paths::read(&path)?.lines() {
            let rest = KINDS
                .iter()
                .find_map(|kind| line.trim_start().strip_prefix(kind));
            names.extend(rest.map(|rest| {
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                rest[..end.unwrap_or(rest.len())].to_owned()
            }));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{entry, unused_word};

    #[test]
    fn entries_and_rows_are_read() {
        assert_eq!(
            entry("- **Step** (`run::Open`, `StepNo`): one visit"),
            Some(("Step", vec!["Open", "StepNo"]))
        );
        assert_eq!(entry("- **Fault**: ours"), Some(("Fault", vec![])));
        assert_eq!(
            unused_word("| `Task` | Node |"),
            Some(("Task".into(), "Node".into()))
        );
    }
}
