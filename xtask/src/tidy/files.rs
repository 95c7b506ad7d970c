//! Source files: each says why it is there, none is too long, no word is left for later.

use super::Found;
use crate::paths;
use anyhow::Result;
use std::fs;
use std::path::Path;

/// A file longer than this is refused: nobody reads it in one sitting.
const LINES_MAX: usize = 600;
/// A file longer than this is full, and listed.
const LINES_FULL: usize = 400;

/// The studio's files are smaller: one component and what belongs to it.
const PAGE_LINES_MAX: usize = 300;
/// The folder of the studio's page, and what it is written in.
const PAGE: &str = "studio";
const PAGE_KINDS: [&str; 2] = ["ts", "tsx"];

/// The folders with Rust sources.
const SOURCES: [&str; 2] = ["crates", "xtask"];
/// The kinds of file that people write.
const WRITTEN: [&str; 9] = ["rs", "md", "toml", "yaml", "yml", "sql", "ts", "tsx", "sh"];

/// Words that mark something as unfinished, or that name somebody's own machine. Written in
/// halves, since this file is checked too.
const WORDS: [&str; 8] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("for", " now"),
    concat!("temp", "orary hack"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/runner"),
];

pub(super) fn check(root: &Path, found: &mut Found) -> Result<()> {
    sources(root, found)?;
    page(root, found)?;
    words(root, found)
}

fn sources(root: &Path, found: &mut Found) -> Result<()> {
    for dir in SOURCES {
        for path in paths::files(&root.join(dir), "rs")? {
            let place = paths::relative(root, &path);
            let text = paths::read(&path)?;
            if path.file_name().is_some_and(|name| name == "mod.rs") {
                found.complain(
                    &place,
                    "modules are written foo.rs beside foo/, not foo/mod.rs",
                );
            }
            if !text.starts_with("//!") {
                found.complain(&place, "must open with `//!` and say why the file is there");
            }
            let lines = text.lines().count();
            if lines > LINES_MAX {
                found.complain(
                    &place,
                    format!("{lines} lines, {LINES_MAX} are allowed: split it"),
                );
            } else if lines > LINES_FULL {
                found.note(
                    &place,
                    format!("{lines} lines; a file of {LINES_FULL} is full"),
                );
            }
        }
    }
    Ok(())
}

fn page(root: &Path, found: &mut Found) -> Result<()> {
    for extension in PAGE_KINDS {
        for path in paths::files(&root.join(PAGE), extension)? {
            let place = paths::relative(root, &path);
            let text = paths::read(&path)?;
            if !text.starts_with("//") {
                found.complain(&place, "must open with `//` and say why the file is there");
            }
            let lines = text.lines().count();
            if lines > PAGE_LINES_MAX {
                let says = format!("{lines} lines, {PAGE_LINES_MAX} are allowed: split it");
                found.complain(&place, says);
            }
        }
    }
    Ok(())
}

fn words(root: &Path, found: &mut Found) -> Result<()> {
    for extension in WRITTEN {
        for path in paths::files(root, extension)? {
            let place = paths::relative(root, &path);
            // Tests of readers come with documents that are no text.
            let text = fs::read(&path).map(String::from_utf8);
            let Ok(Ok(text)) = text else { continue };
            for (at, line) in text.lines().enumerate() {
                for word in WORDS.iter().filter(|word| has_word(line, word)) {
                    found.complain(&format!("{place}:{}", at + 1), format!("says `{word}`"));
                }
            }
        }
    }
    Ok(())
}

/// Whether `word` stands in `line` with no letter or digit right before or after it.
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
