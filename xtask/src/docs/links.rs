//! Where each page of the repository is on the site, and its links there.

use super::summary::pages_of;
use crate::paths;
use anyhow::Result;
use std::path::Path;

/// The gallery of `tramline init`.
pub(super) const TEMPLATES: &str = "crates/tramline/templates";

/// Pages outside of `docs/`, with their names on the site.
const OTHERS: [(&str, &str); 7] = [
    ("README.md", "index.md"),
    ("ARCHITECTURE.md", "architecture.md"),
    ("CHANGELOG.md", "changelog.md"),
    ("CONTRIBUTING.md", "contributing.md"),
    ("GLOSSARY.md", "glossary.md"),
    ("SECURITY.md", "vulnerabilities.md"),
    ("STYLE.md", "style.md"),
];

/// Whether a file of the repository is a page of the site.
pub(super) fn is_page(path: &str) -> bool {
    let template = path.strip_prefix(TEMPLATES);
    let is_template = template.is_some_and(|rest| {
        // `/NAME/README.md`
        rest.ends_with("/README.md") && rest.matches('/').count() == 2
    });
    let is_doc = path.starts_with("docs/") && path.ends_with(".md") && path != "docs/SUMMARY.md";
    is_doc || is_template || OTHERS.iter().any(|(name, _)| *name == path)
}

/// Every page, with folders that have none of their own.
pub(super) fn pages(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in paths::files(root, "md")? {
        let path = paths::relative(root, &path);
        if is_page(&path) {
            found.push(path);
        }
    }
    found.extend(["docs/errors", "docs/decisions"].map(str::to_owned));
    Ok(found)
}

/// The place of a file on the site.
pub(super) fn place(path: &str) -> String {
    if let Some((_, place)) = OTHERS.iter().find(|(name, _)| *name == path) {
        return (*place).to_owned();
    }
    if let Some(rest) = path.strip_prefix(TEMPLATES) {
        return format!("gallery{}", rest.replace("/README.md", "/index.md"));
    }
    let inside = path.strip_prefix("docs/").unwrap_or(path);
    match path {
        "docs/errors" | "docs/decisions" => format!("{inside}/index.md"),
        _ => inside.to_owned(),
    }
}

/// A path without `.` and `..`.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The way from one place of the site to another.
fn relative(from: &str, to: &str) -> String {
    let up = "../".repeat(from.matches('/').count());
    format!("{up}{to}")
}

/// The text of a page with the links of the site.
pub(super) fn rewrite(root: &Path, page: &str, repository: &str) -> Result<String> {
    if !page.ends_with(".md") {
        return index(root, page);
    }
    let text = paths::read(&root.join(page))?;
    let is_picture = |path: &str| path.ends_with(".svg") || path.ends_with(".png");
    let on_site = |path: &str| {
        let known = path.starts_with("docs/") || path.starts_with(TEMPLATES);
        is_page(path)
            || (known && is_picture(path))
            || ["docs/errors", "docs/decisions"].contains(&path)
    };
    let dir = page.rsplit_once('/').map_or("", |(dir, _)| dir);
    let target = |link: &str| {
        let (file, anchor) = link
            .split_once('#')
            .map_or((link, None), |(file, anchor)| (file, Some(anchor)));
        if file.is_empty()
            || file.contains("://")
            || file.starts_with("mailto:")
            || file.contains(' ')
        {
            return link.to_owned();
        }
        let path = normal(&format!("{dir}/{file}"));
        let anchor = anchor
            .map(|anchor| format!("#{anchor}"))
            .unwrap_or_default();
        match on_site(&path) {
            true => format!("{}{anchor}", relative(&place(page), &place(&path))),
            false => format!("{repository}/{path}{anchor}"),
        }
    };
    Ok(rewrite_links(&text, target))
}

/// Replaces the target of each link outside of code.
fn rewrite_links(text: &str, target: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if line.trim_end() == open => fence = None,
            None if ticks >= 3 => fence = Some(&line[..ticks]),
            None => {
                let mut parts = line.split("](");
                out.push_str(parts.next().unwrap_or_default());
                for part in parts {
                    out.push_str("](");
                    match part.split_once(')') {
                        Some((link, rest)) => {
                            out.push_str(&target(link));
                            out.push(')');
                            out.push_str(rest);
                        }
                        None => out.push_str(part),
                    }
                }
                continue;
            }
            Some(_) => {}
        }
        out.push_str(line);
    }
    out
}

/// A page that lists the pages of a folder.
fn index(root: &Path, folder: &str) -> Result<String> {
    let (title, text) = match folder {
        "docs/errors" => (
            "Error codes",
            "Every error has a code. `tramline explain CODE` prints its page.",
        ),
        _ => (
            "Decisions",
            "Why Tramline is built as it is. A page that is superseded says by what.",
        ),
    };
    let pages = pages_of(root, folder)?;
    let from = place(folder);
    let lines = pages
        .iter()
        .map(|(title, to)| format!("- [{title}]({})\n", relative(&from, to)));
    Ok(format!(
        "# {title}\n\n{text}\n\n{}",
        lines.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_of_code_are_rewritten() {
        let text = "[a](b.md) `x`\n```sh\n[a](b.md)\n```\n[c](d.md#e), [f](g)\n````md\n```\n[a](b.md)\n````\n";
        let expected = "[a](<b.md>) `x`\n```sh\n[a](b.md)\n```\n[c](<d.md#e>), [f](<g>)\n````md\n```\n[a](b.md)\n````\n";
        assert_eq!(rewrite_links(text, |link| format!("<{link}>")), expected);
    }

    #[test]
    fn pages_have_a_place_on_the_site() {
        for (path, expected) in [
            ("README.md", "index.md"),
            ("docs/sop.md", "sop.md"),
            ("docs/errors/T0001.md", "errors/T0001.md"),
            ("docs/errors", "errors/index.md"),
            (
                "crates/tramline/templates/hello/README.md",
                "gallery/hello/index.md",
            ),
        ] {
            assert_eq!(place(path), expected);
        }
        assert_eq!(normal("docs/errors/../sop.md"), "docs/sop.md");
        assert_eq!(relative("errors/T0001.md", "sop.md"), "../sop.md");
        assert!(!is_page("crates/tramline/templates/hello/notes/README.md"));
    }
}
