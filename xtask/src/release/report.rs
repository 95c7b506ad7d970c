//! The results as a table and as JSON.

use super::ReleaseContext;
use anyhow::Result;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Characters of a failure in the table; the whole text is in the JSON.
const FAILURE_SHOWN_MAX: usize = 300;

/// What became of a package.
pub(super) enum Outcome {
    /// It works; the text says what was shown.
    Ok(String),
    /// It could not be built, installed or run.
    Failed(String),
}

impl From<Result<String>> for Outcome {
    fn from(result: Result<String>) -> Self {
        match result {
            Ok(shown) => Self::Ok(shown),
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }
}

impl Outcome {
    pub(super) fn is_ok(&self) -> bool {
        matches!(self, Self::Ok(_))
    }

    fn text(&self) -> (&'static str, &str) {
        match self {
            Self::Ok(shown) => ("ok", shown),
            Self::Failed(why) => ("failed", why),
        }
    }
}

/// One package's results.
pub(super) struct PackageRow {
    pub(super) name: &'static str,
    /// Its files, relative to the workspace.
    pub(super) files: Vec<String>,
    pub(super) bytes: u64,
    pub(super) build_seconds: f64,
    pub(super) try_seconds: f64,
    pub(super) outcome: Outcome,
}

/// The table for people.
pub(super) fn table(rows: &[PackageRow]) -> String {
    let mut text = format!(
        "{:<10}{:<8}{:>9}{:>9}{:>8}  {}\n",
        "package", "result", "size", "build", "try", "shown"
    );
    for row in rows {
        let (word, shown) = row.outcome.text();
        let shown = shown.replace('\n', " ");
        let shown: String = shown.chars().take(FAILURE_SHOWN_MAX).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<10}{word:<8}{:>9}{:>7.1} s{:>6.1} s  {shown}",
            row.name,
            size(row.bytes),
            row.build_seconds,
            row.try_seconds,
        );
    }
    text
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// The results for scripts.
pub(super) fn json(context: &ReleaseContext, rows: &[PackageRow]) -> Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let (word, shown) = row.outcome.text();
            json!({
                "package": row.name,
                "result": word,
                "shown": shown,
                "files": row.files,
                "bytes": row.bytes,
                "buildSeconds": row.build_seconds,
                "trySeconds": row.try_seconds,
            })
        })
        .collect();
    json!({
        "version": context.version,
        "target": super::TARGET,
        "glibc": context.glibc.to_string(),
        "packages": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_on_one_line() {
        let row = PackageRow {
            name: "npm",
            files: Vec::new(),
            bytes: 20_640_000,
            build_seconds: 1.25,
            try_seconds: 0.0,
            outcome: Outcome::Failed("npm ended\nwith 1".to_owned()),
        };
        let text = table(&[row]);
        let line = text.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "npm       failed    20.6 MB    1.2 s   0.0 s  npm ended with 1"
        );
    }
}
