//! Tools shorten texts only after redaction, because half a secret is not recognized.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::Path;

/// Code that sees the arguments and results of tools before they are redacted.
const UNREDACTED: [&str; 2] = [
    "crates/tramline-builtin/src",
    "crates/tramline-mcp-client/src",
];
/// Code that shortens a text.
const CUTS: [&str; 4] = [
    ".chars().take(",
    ".char_indices().nth(",
    "floor_char_boundary(",
    "display_name(",
];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    for part in UNREDACTED {
        for path in paths::files(&root.join(part), "rs")? {
            let place = paths::relative(root, &path);
            for (number, line) in (1..).zip(paths::read(&path)?.lines()) {
                if let Some(cut) = cuts(line) {
                    let says =
                        format!("`{cut}` may leave half a secret: use `RedactText::excerpt`");
                    found.problem(&format!("{place}:{number}"), says);
                }
            }
        }
    }
    Ok(())
}

/// The call in a line that shortens a text, if any.
fn cuts(line: &str) -> Option<&'static str> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return None;
    }
    CUTS.into_iter().find(|cut| code.contains(cut))
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn cuts_are_found_and_talk_of_them_is_not() {
        let cut = "let shown: String = path.chars().take(200).collect();";
        assert_eq!(cuts(cut), Some(".chars().take("));
        assert_eq!(cuts("// path.chars().take(200)"), None);
        assert_eq!(cuts("let taken = pipe.take(16);"), None);
    }
}
