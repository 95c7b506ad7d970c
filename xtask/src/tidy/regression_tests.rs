//! Every test that docs/security.md names exists.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/security.md";
const HEADING: &str = "## Regression tests";
/// Lines above a function in which its attribute is looked for.
const ATTRIBUTE_LINES_MAX: usize = 4;

/// A source file.
struct SourceFile {
    path: PathBuf,
    text: String,
}

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let page = paths::read(&root.join(PAGE))?;
    let mut sources = Vec::new();
    for path in paths::files(&root.join("crates"), "rs")? {
        let text = paths::read(&path)?;
        sources.push(SourceFile { path, text });
    }
    let names = named_tests(&page);
    if names.is_empty() {
        found.problem(PAGE, format!("no tests under `{HEADING}`"));
    }
    for name in names {
        if !exists(root, name, &sources) {
            found.problem(PAGE, format!("there is no test `{name}`"));
        }
    }
    Ok(())
}

/// The names in backticks in the last column of the table.
fn named_tests(page: &str) -> Vec<&str> {
    let table = page.split_once(HEADING).map_or("", |(_, rest)| rest);
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit(" | ").next());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

/// Whether a command, a path, a crate, a test or a module with tests of this name exists.
fn exists(root: &Path, name: &str, sources: &[SourceFile]) -> bool {
    if name.starts_with("cargo ") {
        return true;
    }
    if name.contains('/') {
        return root.join(name).exists();
    }
    if root.join("crates").join(name).is_dir() {
        return true;
    }
    let parts: Vec<&str> = name.split("::").filter(|part| *part != "tests").collect();
    let Some((last, above)) = parts.split_last() else {
        return false;
    };
    let is_below = |source: &&SourceFile| {
        let path = source.path.to_string_lossy();
        above.iter().all(|part| path.contains(part))
    };
    sources.iter().filter(is_below).any(|source| {
        let is_module = source.path.file_stem().is_some_and(|stem| stem == *last);
        is_module && source.text.contains("test]") || has_test(&source.text, last)
    })
}

/// Whether a file has a test function of this name.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let called = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| {
        let before = &lines[at.saturating_sub(ATTRIBUTE_LINES_MAX)..at];
        line.contains(&called) && before.iter().any(|line| line.contains("test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_exist_are_found() {
        let page =
            format!("`x`\n{HEADING}\n\n| a | test |\n|---|---|\n| `b` | `here::c`, `d` in `e` |\n");
        assert_eq!(named_tests(&page), ["here::c", "d", "e"]);
        let source = SourceFile {
            path: "crates/e/src/here.rs".into(),
            text: "fn d() {}\n\n\n\n\n#[test]\nfn c() {}\n".into(),
        };
        let sources = [source];
        let known = |name| exists(Path::new("/nowhere"), name, &sources);
        assert!(known("c") && known("here::c") && known("here") && known("here::tests"));
        assert!(!known("d") && !known("there::c") && !known("no/path.rs"));
    }
}
