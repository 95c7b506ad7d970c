//! Source files: each starts with its purpose, none is too long, none contains unfinished work.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Lines of a Rust file: longer ones are hard to read in one sitting.
const LINES_MAX: usize = 600;
/// Lines from which a file is reported as almost full.
const LINES_FULL: usize = 400;

/// Lines of a studio file: one component and what belongs to it.
const PAGE_LINES_MAX: usize = 300;
/// The folder of the studio, and its file extensions.
const PAGE: &str = "studio";
const PAGE_KINDS: [&str; 2] = ["ts", "tsx"];

/// The folders with Rust sources.
const SOURCES: [&str; 2] = ["crates", "xtask"];
/// Extensions of files that people write.
const WRITTEN: [&str; 9] = ["rs", "md", "toml", "yaml", "yml", "sql", "ts", "tsx", "sh"];

/// Words that mark unfinished work, or paths of someone's own machine. Split in two, since this
/// file is checked too.
const BANNED_WORDS: [&str; 8] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("for", " now"),
    concat!("temp", "orary hack"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/runner"),
];

/// The one file that may contain unsafe code, and how it shows. Written in halves, like the words above.
const UNSAFE_FILE: &str = "crates/tramline-process/src/memory.rs";
const UNSAFE_MARK: &str = concat!("allow(", "unsafe_code");

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    sources(root, found)?;
    page(root, found)?;
    words(root, found)
}

fn sources(root: &Path, found: &mut TidyReport) -> Result<()> {
    for dir in SOURCES {
        for path in paths::files(&root.join(dir), "rs")? {
            let place = paths::relative(root, &path);
            let text = paths::read(&path)?;
            if path.file_name().is_some_and(|name| name == "mod.rs") {
                found.problem(&place, "use foo.rs beside foo/, not foo/mod.rs");
            }
            if !text.starts_with("//!") {
                found.problem(&place, "must start with `//!` and say why the file exists");
            }
            if text.contains(UNSAFE_MARK) && place != UNSAFE_FILE {
                found.problem(&place, format!("only {UNSAFE_FILE} may allow unsafe code"));
            }
            let lines = text.lines().count();
            if lines > LINES_MAX {
                found.problem(
                    &place,
                    format!("{lines} lines, at most {LINES_MAX} are allowed: split it"),
                );
            } else if lines > LINES_FULL {
                found.note(
                    &place,
                    format!("{lines} lines; consider splitting above {LINES_FULL}"),
                );
            }
        }
    }
    Ok(())
}

fn page(root: &Path, found: &mut TidyReport) -> Result<()> {
    for extension in PAGE_KINDS {
        for path in paths::files(&root.join(PAGE), extension)? {
            let place = paths::relative(root, &path);
            let text = paths::read(&path)?;
            if !text.starts_with("//") {
                found.problem(&place, "must start with `//` and say why the file exists");
            }
            let lines = text.lines().count();
            if lines > PAGE_LINES_MAX {
                let says = format!("{lines} lines, at most {PAGE_LINES_MAX} are allowed: split it");
                found.problem(&place, says);
            }
        }
    }
    Ok(())
}

fn words(root: &Path, found: &mut TidyReport) -> Result<()> {
    for extension in WRITTEN {
        for path in paths::files(root, extension)? {
            let place = paths::relative(root, &path);
            // Test data for parsers includes files that are not text.
            let text = fs::read(&path).map(String::from_utf8);
            let Ok(Ok(text)) = text else { continue };
            for (at, line) in text.lines().enumerate() {
                for word in BANNED_WORDS.iter().filter(|word| has_word(line, word)) {
                    found.problem(&format!("{place}:{}", at + 1), format!("contains `{word}`"));
                }
            }
        }
    }
    Ok(())
}

/// Whether `line` contains `word` with no letter or digit directly before or after it.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let path = word.ends_with('/');
        let apart = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
        apart(before) && (path || apart(after))
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn words_are_found_whole() {
        assert!(has_word("leave it for later: x", "for later"));
        assert!(!has_word("for laters", "for later"));
        assert!(has_word("see /tmp/x", "/tmp/"));
        assert!(!has_word("framework/tmp/x", "/tmp/"));
    }
}
