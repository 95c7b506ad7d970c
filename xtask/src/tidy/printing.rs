//! The product prints in one place, which escapes untrusted text for terminals.

use super::TidyReport;
use crate::paths;
use anyhow::Result;
use std::path::Path;

/// The places that may print: the command line's output module, the log writer, and the process
/// that starts a server, whose output we read like the server's.
const PRINTING_ALLOWED: [&str; 4] = [
    "crates/tramline/src/cli/output.rs",
    "crates/tramline/src/cli/output/",
    "crates/tramline-telemetry/src/logs.rs",
    "crates/tramline-process/src/supervisor.rs",
];
/// Crates that are not shipped.
const NOT_SHIPPED: [&str; 2] = ["crates/tramline-bench/", "crates/tramline-test-server/"];
/// Code that prints.
const PRINTS: [&str; 9] = [
    "io::stdout(",
    "io::stderr(",
    "anstream::",
    "anstyle::",
    "println!(",
    "print!(",
    "eprintln!(",
    "eprint!(",
    "dbg!(",
];

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    for path in paths::files(&root.join("crates"), "rs")? {
        let place = paths::relative(root, &path);
        let test = place.contains("/tests/") || place.ends_with("/tests.rs");
        let other = NOT_SHIPPED.iter().any(|other| place.starts_with(other));
        let shipped = place.contains("/src/") && !test && !other;
        if !shipped || PRINTING_ALLOWED.iter().any(|own| place.starts_with(own)) {
            continue;
        }
        for (number, line) in (1..).zip(paths::read(&path)?.lines()) {
            if let Some(print) = prints(line) {
                let says = format!("`{print}` bypasses crates/tramline/src/cli/output.rs");
                found.problem(&format!("{place}:{number}"), says);
            }
        }
    }
    Ok(())
}

/// The printing call in a line, if any.
fn prints(line: &str) -> Option<&'static str> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return None;
    }
    PRINTS.into_iter().find(|print| code.contains(print))
}

#[cfg(test)]
mod tests {
    use super::prints;

    #[test]
    fn printing_is_found_and_talk_of_it_is_not() {
        assert_eq!(
            prints("    let out = std::io::stdout().lock();"),
            Some("io::stdout(")
        );
        assert_eq!(prints("println!(\"{x}\");"), Some("println!("));
        assert_eq!(prints("// println!(\"{x}\");"), None);
        assert_eq!(prints("let stderr = server.stderr();"), None);
    }
}
