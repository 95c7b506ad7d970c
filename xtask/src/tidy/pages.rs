//! Every error code has a page that explains it, and every page a code.

use super::Found;
use crate::paths;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use tramline_core::failure::FailureKind;
use tramline_core::flaw::Code;

const PAGES: &str = "docs/errors";
const PARTS: [&str; 3] = ["## What it means", "## Example", "## How to mend it"];

/// Every code that users can meet.
fn codes() -> BTreeSet<&'static str> {
    let flaws = Code::ALL.into_iter().map(Code::as_str);
    let failures = FailureKind::ALL.into_iter().map(FailureKind::code);
    flaws.chain(failures).collect()
}

pub(super) fn check(root: &Path, found: &mut Found) -> Result<()> {
    let mut known = codes();
    if known.len() != Code::ALL.len() + FailureKind::ALL.len() {
        found.complain(PAGES, "two kinds share a code");
    }
    for path in paths::files(&root.join(PAGES), "md")? {
        let place = paths::relative(root, &path);
        let code = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !known.remove(code.as_str()) {
            found.complain(&place, format!("there is no code {code}"));
        }
        let text = paths::read(&path)?;
        if !text.starts_with(&format!("# {code}: ")) {
            found.complain(&place, format!("must open with `# {code}: ` and a title"));
        }
        for part in PARTS {
            if !text.lines().any(|line| line == part) {
                found.complain(&place, format!("has no `{part}`"));
            }
        }
    }
    for code in known {
        found.complain(&format!("{PAGES}/{code}.md"), "is missing");
    }
    Ok(())
}
