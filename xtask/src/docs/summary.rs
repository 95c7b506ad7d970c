//! The table of contents, `docs/SUMMARY.md`: every page is in it once. Folders stand for all of their pages.

use super::links;
use crate::paths;
use anyhow::Result;
use std::fmt::Write as _;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Folders of many pages, each listed under one entry.
const FOLDERS: [&str; 2] = ["errors", "decisions"];

/// The targets of the entries, relative to `docs/`.
fn targets(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1);
    links.filter_map(|rest| rest.split(')').next()).collect()
}

/// What is wrong with the table of contents.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let text = paths::read(&root.join(SUMMARY))?;
    let listed = targets(&text);
    let mut wrong = Vec::new();
    for (at, target) in listed.iter().enumerate() {
        if !root.join("docs").join(target).exists() {
            wrong.push(format!("`{target}` does not exist"));
        }
        if listed[..at].contains(target) {
            wrong.push(format!("`{target}` is listed twice"));
        }
    }
    for path in paths::files(&root.join("docs"), "md")? {
        let page = paths::relative(&root.join("docs"), &path);
        let folder = FOLDERS
            .iter()
            .any(|folder| page.starts_with(&format!("{folder}/")));
        if page != "SUMMARY.md" && !folder && !listed.contains(&page.as_str()) {
            wrong.push(format!("`{page}` is not listed"));
        }
    }
    Ok(wrong)
}

/// The table of contents of the site: with a page for each folder, the pages in it, and the gallery.
pub(super) fn expanded(root: &Path) -> Result<String> {
    let mut out = String::new();
    for line in paths::read(&root.join(SUMMARY))?.lines() {
        let target = targets(line).first().copied().unwrap_or_default();
        let place = match target {
            "" => String::new(),
            folder if FOLDERS.contains(&folder) => format!("{folder}/index.md"),
            page => links::place(&links::normal(&format!("docs/{page}"))),
        };
        let line = line.replace(&format!("]({target})"), &format!("]({place})"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
        let inner = if FOLDERS.contains(&target) {
            pages_of(root, &format!("docs/{target}"))?
        } else if target == "quickstart.md" {
            pages_of(root, links::TEMPLATES)?
        } else {
            Vec::new()
        };
        for (title, place) in inner {
            let _ = writeln!(out, "  - [{title}]({place})");
        }
    }
    Ok(out)
}

/// The titles and places of the pages in a folder.
pub(super) fn pages_of(root: &Path, folder: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for path in paths::files(&root.join(folder), "md")? {
        let page = paths::relative(root, &path);
        if !links::is_page(&page) {
            continue;
        }
        let text = paths::read(&path)?;
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        let title = title.unwrap_or(&page).replace(['[', ']'], "");
        found.push((title, links::place(&page)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn targets_are_read_from_entries() {
        let text = "# Summary\n\n[A](../README.md)\n- [B](b.md)\n  - [C](c/d.md)\n";
        assert_eq!(targets(text), ["../README.md", "b.md", "c/d.md"]);
    }
}
