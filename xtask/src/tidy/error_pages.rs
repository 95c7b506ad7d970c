//! Every error code has a page that explains it, and every page has a code.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::flaw::FlawCode;

const PAGES: &str = "docs/errors";
const PARTS: [&str; 3] = ["## What it means", "## Example", "## How to fix it"];

/// Every code that users can encounter.
fn codes() -> BTreeSet<&'static str> {
    let flaws = FlawCode::ALL.into_iter().map(FlawCode::as_str);
    let failures = FailureKind::ALL.into_iter().map(FailureKind::code);
    flaws.chain(failures).collect()
}

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    let mut known = codes();
    if known.len() != FlawCode::ALL.len() + FailureKind::ALL.len() {
        found.problem(PAGES, "two kinds share a code");
    }
    for path in paths::files(&root.join(PAGES), "md")? {
        let place = paths::relative(root, &path);
        let code = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !known.remove(code.as_str()) {
            found.problem(&place, format!("unknown code {code}"));
        }
        let text = paths::read(&path)?;
        if !text.starts_with(&format!("# {code}: ")) {
            found.problem(&place, format!("must start with `# {code}: ` and a title"));
        }
        for part in PARTS {
            if !text.lines().any(|line| line == part) {
                found.problem(&place, format!("has no `{part}`"));
            }
        }
    }
    for code in known {
        found.problem(&format!("{PAGES}/{code}.md"), "is missing");
    }
    Ok(())
}
