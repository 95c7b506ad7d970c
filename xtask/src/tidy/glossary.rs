//! One word per thing: the glossary has every word, and what it names in code is there.
//!
//! An entry reads `- **Word** (`Type`): what it is.` The table at the end lists words that are not
//! used and what is said instead; no type may bear one of them.

use super::Found;
use crate::paths;
use anyhow::Result;
use std::path::Path;

const GLOSSARY: &str = "GLOSSARY.md";

/// The words without which the project cannot be talked about.
const WORDS: [&str; 26] = [
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

pub(super) fn check(root: &Path, found: &mut Found) -> Result<()> {
    let Ok(text) = paths::read(&root.join(GLOSSARY)) else {
        return Ok(());
    };
    let types = types(root)?;
    let entries: Vec<_> = text.lines().filter_map(entry).collect();
    for word in WORDS
        .iter()
        .filter(|word| !entries.iter().any(|(known, _)| known == *word))
    {
        found.complain(GLOSSARY, format!("`{word}` has no entry"));
    }
    for (word, named) in &entries {
        for name in named
            .iter()
            .filter(|name| !types.iter().any(|known| known == *name))
        {
            found.complain(
                GLOSSARY,
                format!("**{word}** names `{name}`, which is no type of ours"),
            );
        }
    }
    for (unused, instead) in text.lines().filter_map(instead) {
        if types.contains(&unused) {
            found.complain(
                GLOSSARY,
                format!("a type is called `{unused}`; we say {instead}"),
            );
        }
    }
    Ok(())
}

/// The word of an entry, and the types in the brackets after it.
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

/// A row `| `Word` | what we say |` of the table of unused words.
fn instead(line: &str) -> Option<(String, String)> {
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
    use super::{entry, instead};

    #[test]
    fn entries_and_rows_are_read() {
        assert_eq!(
            entry("- **Step** (`run::Open`, `StepNo`): one visit"),
            Some(("Step", vec!["Open", "StepNo"]))
        );
        assert_eq!(entry("- **Fault**: ours"), Some(("Fault", vec![])));
        assert_eq!(
            instead("| `Task` | Node |"),
            Some(("Task".into(), "Node".into()))
        );
    }
}
