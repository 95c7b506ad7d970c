//! Names: types and modules use the words of the field, and no type name occurs too often to grep.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// How many types of one name the workspace may have. `Error` is exempt: every module may have its own.
const SAME_NAME_MAX: usize = 3;

/// Names that say nothing about what a type or a module is, or that hide a name of the prelude.
const BANNED: [&str; 46] = [
    "answered",
    "asked",
    "brought",
    "came",
    "care",
    "copy",
    "debug",
    "desk",
    "desks",
    "drawn",
    "elsewhere",
    "end",
    "found",
    "from",
    "given",
    "guided",
    "heard",
    "held",
    "hold",
    "hot",
    "house",
    "kept",
    "look",
    "means",
    "none",
    "own",
    "pen",
    "place",
    "port",
    "said",
    "seat",
    "seats",
    "shelf",
    "shown",
    "stood",
    "teller",
    "told",
    "trouble",
    "walked",
    "wanted",
    "warm",
    "way",
    "went",
    "whereabouts",
    "wish",
    "wrong",
];

/// Files whose name is fixed by what they demonstrate.
const EXEMPT: [&str; 1] = ["crates/tramline/examples/debug.rs"];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut lines_of: BTreeMap<String, usize> = BTreeMap::new();
    for dir in ["crates", "xtask"] {
        for path in paths::files(&root.join(dir), "rs")? {
            let place = paths::relative(root, &path);
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            if BANNED.contains(&&*stem) && !EXEMPT.contains(&place.as_str()) {
                found.problem(&place, format!("`{stem}` does not say what is in the file"));
            }
            let text = paths::read(&path)?;
            if is_production(&place) {
                let of_crate = place.split('/').take(2).collect::<Vec<_>>().join("/");
                *lines_of.entry(of_crate).or_default() += production_lines(&text);
            }
            for (number, line) in (1..).zip(text.lines()) {
                let Some(name) = defined_type(line) else {
                    continue;
                };
                let at = format!("{place}:{number}");
                if BANNED.contains(&name.to_lowercase().as_str()) {
                    found.problem(&at, format!("`{name}` does not say what the type is"));
                }
                types.entry(name.to_owned()).or_default().push(at);
            }
        }
    }
    repeated(&types, found);
    measures(&types, &lines_of, found);
    journal_readings(root, found)?;
    public_items(root, found)?;
    Ok(())
}

fn repeated(types: &BTreeMap<String, Vec<String>>, found: &mut TidyReport) {
    for (name, places) in types.iter().filter(|(name, _)| *name != "Error") {
        if places.len() > SAME_NAME_MAX {
            let many = places.len();
            let others = places.join(", ");
            found.problem(name, format!("names {many} types: {others}"));
        }
    }
}

/// The figures that show whether the code stays readable.
fn measures(
    types: &BTreeMap<String, Vec<String>>,
    lines_of: &BTreeMap<String, usize>,
    found: &mut TidyReport,
) {
    let most = types.iter().filter(|(name, _)| *name != "Error");
    if let Some((name, places)) = most.max_by_key(|(_, places)| places.len()) {
        found.note(
            "measure",
            format!("most repeated type name: `{name}`, {} times", places.len()),
        );
    }
    if let Some((name, lines)) = lines_of.iter().max_by_key(|(_, lines)| **lines) {
        found.note("measure", format!("largest crate: {name}, {lines} lines"));
    }
    let all: usize = lines_of.values().sum();
    found.note("measure", format!("production Rust: {all} lines"));
}

/// The API of the `tramline` crate, and the maximum number of its items.
const API: (&str, usize) = ("crates/tramline/src/lib.rs", 40);

/// Counts the public items of the API that are not hidden.
fn public_items(root: &Path, found: &mut TidyReport) -> Result<()> {
    let (file, most) = API;
    let items = exported(&paths::read(&root.join(file))?);
    found.note(
        "measure",
        format!("items of the Rust API: {items} of at most {most}"),
    );
    if items > most {
        found.problem(file, format!("exports {items} items; hide all but {most}"));
    }
    Ok(())
}

/// The number of names that a file exports without `#[doc(hidden)]`.
fn exported(text: &str) -> usize {
    let code = text.lines().filter(|line| !line.starts_with("//"));
    let code: Vec<&str> = code.collect();
    let code = code.join("\n");
    let statements = code.split_inclusive(';');
    let names = statements.filter_map(|statement| {
        let at = statement.find("pub ")?;
        let (before, item) = statement.split_at(at);
        let hidden = before.contains("#[doc(hidden)]");
        (!hidden).then(|| match item.split_once('{') {
            Some((_, list)) => list
                .split(',')
                .filter(|name| name.contains(char::is_alphabetic))
                .count(),
            None => 1,
        })
    });
    names.sum()
}

/// The test that counts how often a journal is read for one reply.
const READS_TEST: (&str, &str) = (
    "crates/tramline-mcp-server/tests/it/control/journal_reads.rs",
    "a_reply_reads_the_journal_once",
);

fn journal_readings(root: &Path, found: &mut TidyReport) -> Result<()> {
    let (file, test) = READS_TEST;
    match paths::read(&root.join(file))?.contains(test) {
        true => found.note(
            "measure",
            format!("journal readings per reply: 1, counted by the test `{test}`"),
        ),
        false => found.problem(file, format!("the test `{test}` is missing")),
    }
    Ok(())
}

/// Whether a file is shipped: neither a test, nor a benchmark, nor a development task.
fn is_production(place: &str) -> bool {
    let is_test = place.contains("/tests/") || place.ends_with("/tests.rs");
    let is_tool = [
        "crates/tramline-bench/",
        "crates/tramline-test-server/",
        "xtask/",
    ];
    place.contains("/src/") && !is_test && !is_tool.iter().any(|tool| place.starts_with(tool))
}

/// The lines of a file before its tests.
fn production_lines(text: &str) -> usize {
    let lines = text.lines();
    lines
        .take_while(|line| *line != "#[cfg(test)]" || !text.contains("mod tests {"))
        .count()
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    if words.peek().is_some_and(|word| word.starts_with("pub")) {
        words.next();
        // `pub(in path)` has a second word.
        if words.peek().is_some_and(|word| word.ends_with(')')) {
            words.next();
        }
    }
    let keyword = words.next()?;
    if !matches!(keyword, "struct" | "enum" | "trait") {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = name.get(..end.unwrap_or(name.len()))?;
    name.starts_with(|letter: char| letter.is_uppercase())
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_items_are_not_counted() {
        let text = "//! A `pub ` in prose.\n\nmod a;\n#[doc(hidden)]\npub mod b;\npub use a::{A, B,\n    C,\n};\npub use d;\n";
        assert_eq!(exported(text), 4);
    }

    #[test]
    fn definitions_of_types_are_found() {
        let found = |line| defined_type(line).unwrap_or_default();
        assert_eq!(found("pub(crate) struct Told<'a> {"), "Told");
        assert_eq!(found("    pub(in super::super) enum Kind {"), "Kind");
        assert_eq!(found("trait Store: Send {"), "Store");
        assert_eq!(found("/// A struct Told"), "");
        assert_eq!(found("type Err = Fault;"), "");
    }

    #[test]
    fn tests_inside_a_file_do_not_count() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(production_lines(text), 2);
        let helper = "#[cfg(test)]\nuse std::fs;\nfn a() {}\n";
        assert_eq!(production_lines(helper), 3);
    }
}
