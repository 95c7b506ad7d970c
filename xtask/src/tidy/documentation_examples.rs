//! Documents shown in the documentation are what the text says: graphs without flaws, and on the
//! page of a flaw a document that has it.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::Path;
use tramline_expr::Str;
use tramline_formats::yaml_graph::ServerListing;
use tramline_formats::{ReadOptions, sop_markdown};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::ids::BUILTIN;

/// The tools of the built-in server.
const BUILTINS: [&str; 9] = [
    "copy-file",
    "delete-file",
    "http",
    "list-directory",
    "llm",
    "move-file",
    "read-file",
    "shell",
    "write-file",
];

/// Flaws that no small document can have by itself: they are about its size, or about a lock file.
const NOT_SHOWN: [FlawCode; 3] = [
    FlawCode::TooMany,
    FlawCode::ChangedTool,
    FlawCode::BrokenTool,
];

/// Flaws that only procedures can have.
const OF_PROCEDURES: [FlawCode; 11] = [
    FlawCode::UnlistedTool,
    FlawCode::StrayInstructions,
    FlawCode::AmbiguousDecision,
    FlawCode::MissingInstructions,
    FlawCode::EndWithEdges,
    FlawCode::UnmarkedEnd,
    FlawCode::MistypedField,
    FlawCode::UnknownName,
    FlawCode::GuardOverlap,
    FlawCode::GuardGap,
    FlawCode::WritingTool,
];

/// All flaws of the procedure that a page shows.
fn procedure(page: &str) -> Vec<Flaw> {
    let shown = page.split("````markdown\n").nth(1);
    let shown = shown.and_then(|rest| rest.split("````").next());
    match sop_markdown::read(shown.unwrap_or_default().as_bytes(), "shown") {
        Ok(read) => read.warnings,
        Err(flaws) => flaws,
    }
}

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    for path in super::examples::documents(root)? {
        let flaws = flaws(&paths::read(&path)?);
        report_flaws(&paths::relative(root, &path), &flaws, found);
    }
    for path in paths::files(&root.join("docs"), "md")? {
        let place = paths::relative(root, &path);
        let text = paths::read(&path)?;
        let shown = blocks(&text);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match FlawCode::ALL.into_iter().find(|code| code.as_str() == name) {
            Some(code) if NOT_SHOWN.contains(&code) => {}
            Some(code) if OF_PROCEDURES.contains(&code) => {
                let flaws = procedure(&text);
                if !flaws.iter().any(|flaw| flaw.code == code) {
                    found.problem(&place, "its example does not have this flaw");
                }
            }
            Some(code) => {
                let (_, first) = shown.first().copied().unwrap_or_default();
                let flaws = flaws(first);
                if !flaws.iter().any(|flaw| flaw.code == code) {
                    let others: Vec<_> = flaws.iter().map(ToString::to_string).collect();
                    let others = others.join("; ");
                    found.problem(
                        &place,
                        format!("its example does not have this flaw, but: {others}"),
                    );
                }
            }
            None => {
                let whole = shown.iter().filter(|(_, block)| is_whole(block));
                for (line, block) in whole {
                    report_flaws(&format!("{place}:{line}"), &flaws(block), found);
                }
            }
        }
    }
    Ok(())
}

/// Whether a block is a whole document.
fn is_whole(block: &str) -> bool {
    let json = block.starts_with('{') && !block.contains('…');
    let workflow = ["\"tasks\"", "\"nodes\""]
        .iter()
        .any(|key| block.contains(key));
    let markdown = block.starts_with("# ") && block.contains("\n## Steps\n");
    block.starts_with("version:") || (json && workflow) || markdown
}

fn report_flaws(place: &str, flaws: &[Flaw], found: &mut TidyReport) {
    for flaw in flaws {
        found.problem(place, format!("the document shown has a flaw: {flaw}"));
    }
}

/// All flaws of a document, including warnings.
fn flaws(text: &str) -> Vec<Flaw> {
    match tramline_formats::read(text.as_bytes(), ReadOptions::default()) {
        Err(flaws) => flaws,
        Ok(read) => {
            let document = read.document;
            let mut flaws = document.check_tools(|server| match server {
                BUILTIN => ServerListing::Tools(BUILTINS.map(Str::from).to_vec()),
                _ => ServerListing::Unlisted,
            });
            flaws.extend(document.warnings);
            flaws
        }
    }
}

/// The YAML, JSON and Markdown blocks of a page, each with its first line number.
fn blocks(text: &str) -> Vec<(usize, &str)> {
    const OPENS: [(&str, &str); 3] = [
        ("````markdown\n", "````"),
        ("```yaml\n", "```"),
        ("```json\n", "```"),
    ];
    let mut found = Vec::new();
    let mut at = 0;
    let next = |at: usize| {
        let begins = OPENS
            .iter()
            .filter_map(|(open, close)| Some((at + text[at..].find(open)? + open.len(), *close)));
        begins.min()
    };
    while let Some((begin, close)) = next(at) {
        let end = text[begin..]
            .find(close)
            .map_or(text.len(), |end| begin + end);
        found.push((text[..begin].lines().count() + 1, &text[begin..end]));
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn blocks_are_found_with_their_lines() {
        let text = "a\n```yaml\nx: 1\n```\n```json\n{}\n```\n```sh\nls\n```\n```yaml\ny: 2\n```\n";
        assert_eq!(blocks(text), [(3, "x: 1\n"), (6, "{}\n"), (12, "y: 2\n")]);
    }
}
