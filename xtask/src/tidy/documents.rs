//! Documents: paths in the architecture map exist, links resolve, decisions have their sections.

use super::TidyReport;
use crate::{docs, paths};
use anyhow::Result;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MAP: &str = "ARCHITECTURE.md";
const DECISIONS: &str = "docs/decisions";
const DECISION_PARTS: [&str; 4] = [
    "## What",
    "## Why",
    "## Alternatives considered",
    "## Consequences",
];
/// Lines of a decision: at most about a page.
const DECISION_LINES_MAX: usize = 60;

/// The files that must exist at the root.
const AT_ROOT: [&str; 8] = [
    MAP,
    "CHANGELOG.md",
    "GLOSSARY.md",
    "STYLE.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "deny.toml",
    ".ci/run",
];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    for name in AT_ROOT.iter().filter(|name| !root.join(name).is_file()) {
        found.problem(name, "is missing");
    }
    if let Ok(text) = paths::read(&root.join(MAP)) {
        map(root, &text, found)?;
    }
    if let Ok(text) = paths::read(&root.join("CHANGELOG.md"))
        && !text.lines().any(|line| line.trim() == "## [Unreleased]")
    {
        found.problem("CHANGELOG.md", "has no `## [Unreleased]` section");
    }
    decisions(root, found)?;
    for problem in docs::problems(root)? {
        found.problem("docs/SUMMARY.md", problem);
    }
    links(root, found)
}

/// Checks that every path in the map exists, and every source file it names by its last part.
fn map(root: &Path, text: &str, found: &mut TidyReport) -> Result<()> {
    let mut sources = paths::files(&root.join("crates"), "rs")?;
    sources.extend(paths::files(&root.join("xtask"), "rs")?);
    for (at, line) in text.lines().enumerate() {
        let place = format!("{MAP}:{}", at + 1);
        for span in line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| is_path(span))
        {
            let whole = root.join(span).exists();
            let tail = span.ends_with(".rs") && sources.iter().any(|path| path.ends_with(span));
            if !whole && !tail {
                found.problem(&place, format!("`{span}` does not exist"));
            }
        }
        let words = line.split(|letter: char| letter.is_whitespace() || "`,;()".contains(letter));
        for word in words.filter(|word| word.ends_with(".rs")) {
            let there =
                root.join(word).is_file() || sources.iter().any(|path| path.ends_with(word));
            if !there && !line.contains(&format!("`{word}`")) {
                found.problem(&place, format!("{word} does not exist"));
            }
        }
    }
    Ok(())
}

fn is_path(span: &str) -> bool {
    const ENDS: [&str; 6] = [".rs", ".md", ".toml", ".yaml", ".json", ".sql"];
    let plain = !span.contains([' ', '{', '<', '*', ':', '$']);
    plain && (span.contains('/') || ENDS.iter().any(|end| span.ends_with(end)))
}

fn decisions(root: &Path, found: &mut TidyReport) -> Result<()> {
    for (at, path) in paths::files(&root.join(DECISIONS), "md")?
        .iter()
        .enumerate()
    {
        let place = paths::relative(root, path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(&format!("{:04}-", at + 1)) {
            found.problem(
                &place,
                format!("should be number {}: numbers have no gaps", at + 1),
            );
        }
        let text = paths::read(path)?;
        for part in DECISION_PARTS {
            if !text.lines().any(|line| line == part) {
                found.problem(&place, format!("has no `{part}`"));
            }
        }
        if text.lines().count() > DECISION_LINES_MAX {
            found.problem(&place, format!("is longer than {DECISION_LINES_MAX} lines"));
        }
    }
    Ok(())
}

/// Checks that links between documents resolve, with their anchors.
fn links(root: &Path, found: &mut TidyReport) -> Result<()> {
    let mut anchors = BTreeMap::new();
    for path in paths::files(root, "md")? {
        let place = paths::relative(root, &path);
        let dir = path.parent().unwrap_or(root);
        for (at, line) in paths::read(&path)?.lines().enumerate() {
            let targets = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            for target in targets {
                let file = target.split('#').next().unwrap_or_default();
                let outside = file.contains("://") || target.contains(' ');
                if outside {
                    continue;
                }
                let to = match file {
                    "" => path.clone(),
                    file => dir.join(file),
                };
                let here = format!("{place}:{}", at + 1);
                if !to.exists() {
                    found.problem(&here, format!("broken link to `{file}`"));
                } else if let Some((_, anchor)) = target.split_once('#')
                    && to.extension().is_some_and(|end| end == "md")
                {
                    let known = match anchors.entry(to.clone()) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => place.insert(headings(&paths::read(&to)?)),
                    };
                    if !known.contains(anchor) {
                        found.problem(&here, format!("`{target}` leads to no heading"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fence = None;
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if line.trim_end() == open => fence = None,
            None if ticks >= 3 => fence = Some(&line[..ticks]),
            None => {
                if let Some(title) = line.trim_start_matches('#').strip_prefix(' ')
                    && line.starts_with('#')
                {
                    let first = anchor(title);
                    let further = (1..).map(|n| format!("{first}-{n}"));
                    let mut names = std::iter::once(first.clone()).chain(further);
                    // Names are endless, so one is free.
                    found.extend(names.find(|name| !found.contains(name)));
                }
            }
            Some(_) => {}
        }
    }
    found
}

/// A heading's anchor: small letters, spaces as hyphens, without punctuation.
fn anchor(title: &str) -> String {
    let plain = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let kept = title.trim().chars().filter(plain);
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::{headings, is_path};

    #[test]
    fn headings_have_anchors() {
        let page = "# The `data` directory\n```sh\n# no heading\n```\n## Who may answer?\n## Tools\n### Tools\n#tag\n";
        let found: Vec<_> = headings(page).into_iter().collect();
        assert_eq!(
            found,
            ["the-data-directory", "tools", "tools-1", "who-may-answer"]
        );
    }

    #[test]
    fn paths_are_distinguished_from_other_spans() {
        for span in ["crates/tramline", "next.rs", "docs/errors/"] {
            assert!(is_path(span), "{span}");
        }
        for span in ["Run::apply", "join: all", "cargo xtask test", "T0001"] {
            assert!(!is_path(span), "{span}");
        }
    }
}
