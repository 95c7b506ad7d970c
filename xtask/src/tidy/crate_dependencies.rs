//! Crate dependencies point only downwards, and each crate excludes what it forbids.

use super::TidyReport;
use crate::paths;
use anyhow::{Context, Result};
use std::path::Path;
use toml::{Table, Value};

/// The crates that a store may depend on.
const STORE_CRATES: &[&str] = &[
    "tramline-engine",
    "tramline-views",
    "tramline-formats",
    "tramline-syntax",
    "tramline-sop",
    "tramline-workflow",
    "tramline-expr",
];

/// What a crate may depend on and contain.
struct CrateRule {
    name: &'static str,
    /// Our crates that it may depend on.
    allowed_crates: &'static [&'static str],
    /// Third-party crates that it must not depend on.
    forbidden_crates: &'static [&'static str],
    /// Text that its source must not contain, tests excluded.
    forbidden_text: &'static [&'static str],
}

const MCP: &str = "rmcp";
const SQLITE: &str = "rusqlite";
/// Not for pure crates: they do not wait, read the clock or do I/O.
const IMPURE: &[&str] = &[
    "tokio",
    "tokio-util",
    "async-trait",
    "futures",
    "futures-util",
    "reqwest",
    "hyper",
    "axum",
    "rand",
    "getrandom",
    "chrono",
    "time",
    "jiff",
    "tempfile",
    MCP,
    SQLITE,
];
const VENDORS: &[&str] = &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap", "postgres"];

/// What pure code must not contain.
const IMPURE_TEXT: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "tokio",
    "async fn",
];
/// Pure code that must not know the runs of workflows either.
const NO_RUNS: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "tokio",
    "async fn",
    "tramline_workflow::run",
    "tramline_workflow::next",
    "tramline_workflow::step",
    "tramline_workflow::inspect",
];
/// Pure code that must not know what a document means.
const NO_MODEL: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "tokio",
    "async fn",
    "tramline_workflow::workflow",
    "tramline_workflow::graph",
    "tramline_workflow::journal",
    "tramline_workflow::run",
];
/// Pure code that only reads: it applies no event and decides nothing.
const NO_CHANGES: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "tokio",
    "async fn",
    "tramline_workflow::next",
    ".apply(",
    "encode(",
];

const RULES: &[CrateRule] = &[
    CrateRule {
        name: "tramline-expr",
        allowed_crates: &[],
        forbidden_crates: IMPURE,
        forbidden_text: &[
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "SystemTime",
            "tokio",
        ],
    },
    CrateRule {
        name: "tramline-workflow",
        allowed_crates: &["tramline-expr"],
        forbidden_crates: IMPURE,
        forbidden_text: IMPURE_TEXT,
    },
    CrateRule {
        name: "tramline-sop",
        allowed_crates: &["tramline-workflow", "tramline-expr"],
        forbidden_crates: IMPURE,
        forbidden_text: NO_RUNS,
    },
    CrateRule {
        name: "tramline-syntax",
        allowed_crates: &["tramline-workflow", "tramline-expr"],
        forbidden_crates: IMPURE,
        forbidden_text: NO_MODEL,
    },
    CrateRule {
        name: "tramline-formats",
        allowed_crates: &[
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: IMPURE,
        forbidden_text: NO_RUNS,
    },
    CrateRule {
        name: "tramline-views",
        allowed_crates: &[
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: IMPURE,
        forbidden_text: NO_CHANGES,
    },
    CrateRule {
        name: "tramline-engine",
        allowed_crates: &[
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: VENDORS,
        forbidden_text: &[
            "std::fs",
            "std::net",
            "process::Command",
            "Embedder",
            "Precedent",
        ],
    },
    CrateRule {
        name: "tramline-catalog",
        allowed_crates: &[
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: VENDORS,
        // It may not start a run.
        forbidden_text: &[
            "std::fs",
            "std::net",
            "process::Command",
            "tramline_engine::Engine",
            "Engine,",
            "RunStart",
            "RunHandle",
        ],
    },
    CrateRule {
        name: "tramline-planner",
        allowed_crates: &[
            "tramline-catalog",
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: VENDORS,
        // It may not touch a store, except to pass it on.
        forbidden_text: &[
            "std::fs",
            "std::net",
            "process::Command",
            ".store()",
            "StoreUsage",
            "JournalChunk",
            "RunIndexRow",
            ".append(",
        ],
    },
    CrateRule {
        name: "tramline-store",
        allowed_crates: STORE_CRATES,
        forbidden_crates: &[MCP, "reqwest", "hyper", "axum", "clap"],
        forbidden_text: &[
            "tramline_workflow::graph",
            "tramline_workflow::run",
            "tramline_workflow::next",
        ],
    },
    CrateRule {
        name: "tramline-postgres",
        allowed_crates: STORE_CRATES,
        forbidden_crates: &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap"],
        forbidden_text: &[
            "tramline_workflow::graph",
            "tramline_workflow::run",
            "tramline_workflow::next",
        ],
    },
    CrateRule {
        name: "tramline-process",
        allowed_crates: &[],
        forbidden_crates: VENDORS,
        forbidden_text: &["std::net"],
    },
    CrateRule {
        name: "tramline-mcp-client",
        allowed_crates: &[
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
            "tramline-process",
        ],
        forbidden_crates: &[SQLITE, "axum", "clap"],
        forbidden_text: &["tramline_workflow::run", "tramline_workflow::journal"],
    },
    CrateRule {
        name: "tramline-mcp-server",
        allowed_crates: &[
            "tramline-planner",
            "tramline-catalog",
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[SQLITE, "clap"],
        forbidden_text: &["process::Command"],
    },
    CrateRule {
        name: "tramline",
        allowed_crates: &[
            "tramline-planner",
            "tramline-catalog",
            "tramline-mcp-client",
            "tramline-mcp-server",
            "tramline-store",
            "tramline-postgres",
            "tramline-vault",
            "tramline-builtin",
            "tramline-model",
            "tramline-embed",
            "tramline-process",
            "tramline-web",
            "tramline-telemetry",
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[MCP, SQLITE, "tracing-subscriber"],
        forbidden_text: &[],
    },
    CrateRule {
        name: "tramline-vault",
        allowed_crates: &["tramline-engine"],
        forbidden_crates: &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap", "tokio"],
        forbidden_text: &["Settings", "tramline_workflow"],
    },
    CrateRule {
        name: "tramline-builtin",
        allowed_crates: &[
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
            "tramline-process",
        ],
        forbidden_crates: &[MCP, SQLITE, "axum", "clap"],
        forbidden_text: &[
            "tramline_workflow::graph",
            "tramline_workflow::run",
            "tramline_workflow::journal",
        ],
    },
    CrateRule {
        name: "tramline-embed",
        allowed_crates: &[
            "tramline-catalog",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap"],
        forbidden_text: &[
            "tramline_workflow::graph",
            "tramline_workflow::run",
            "tramline_workflow::journal",
            "std::net",
        ],
    },
    CrateRule {
        name: "tramline-model",
        allowed_crates: &[
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[MCP, SQLITE, "axum", "clap"],
        forbidden_text: &[
            "tramline_workflow::graph",
            "tramline_workflow::run",
            "tramline_workflow::journal",
        ],
    },
    CrateRule {
        name: "tramline-web",
        allowed_crates: &[
            "tramline-catalog",
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[MCP, SQLITE, "clap"],
        forbidden_text: &["std::fs", "process::Command"],
    },
    CrateRule {
        name: "tramline-telemetry",
        allowed_crates: &[
            "tramline-engine",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
        ],
        forbidden_crates: &[MCP, SQLITE, "axum", "clap"],
        forbidden_text: &["std::fs", "process::Command", ".append("],
    },
    CrateRule {
        name: "tramline-test-server",
        allowed_crates: &[],
        forbidden_crates: &[MCP, SQLITE],
        forbidden_text: &[],
    },
    CrateRule {
        name: "tramline-bench",
        allowed_crates: &[
            "tramline-planner",
            "tramline-catalog",
            "tramline-views",
            "tramline-formats",
            "tramline-syntax",
            "tramline-sop",
            "tramline-workflow",
            "tramline-expr",
            "tramline",
            "tramline-embed",
            "tramline-engine",
            "tramline-mcp-server",
            "tramline-store",
        ],
        forbidden_crates: &[SQLITE, "clap"],
        forbidden_text: &[],
    },
];

/// A misbehaving server that the tests of any crate may start.
const TEST_CRATE: &str = "tramline-test-server";
/// The crates with which tests of the crates below them read and draw their documents.
const TEST_READERS: [&str; 3] = ["tramline-formats", "tramline-syntax", "tramline-views"];
/// Crates that only the tests of another crate may use: the tests of the language models run the planner loop.
const TEST_DEPENDENCIES: &[(&str, &str)] = &[("tramline-model", "tramline-planner")];
/// The feature that provides fakes and contract suites.
const TEST_FEATURE: &str = "testing";

pub(super) fn check(root: &Path, found: &mut TidyReport) -> Result<()> {
    for path in paths::files(&root.join("crates"), "toml")? {
        if path.file_name().is_none_or(|name| name != "Cargo.toml") {
            continue;
        }
        let place = paths::relative(root, &path);
        let manifest: Table = paths::read(&path)?
            .parse()
            .with_context(|| format!("reading {place}"))?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) => {
                check_dependencies(rule, &manifest, &place, found);
                check_sources(rule, root, path.parent().unwrap_or(root), found)?;
            }
            None => found.problem(
                &place,
                format!("`{name}` has no rule: add one to xtask/src/tidy/crate_dependencies.rs"),
            ),
        }
    }
    Ok(())
}

fn check_dependencies(rule: &CrateRule, manifest: &Table, place: &str, found: &mut TidyReport) {
    for (kind, table) in tables(manifest) {
        let in_tests = kind == "dev-dependencies";
        for (key, what) in table {
            let name = what.get("package").and_then(Value::as_str).unwrap_or(key);
            let ours = name == "tramline" || name.starts_with("tramline-");
            let for_tests = in_tests
                && (name == TEST_CRATE
                    || name == rule.name
                    || TEST_READERS.contains(&name)
                    || TEST_DEPENDENCIES.contains(&(rule.name, name)));
            if ours && !for_tests && !rule.allowed_crates.contains(&name) {
                found.problem(
                    place,
                    format!("`{}` must not depend on `{name}`", rule.name),
                );
            }
            if rule.forbidden_crates.contains(&name) {
                found.problem(place, format!("`{name}` is not allowed in `{}`", rule.name));
            }
            if what
                .as_str()
                .or(what.get("version").and_then(Value::as_str))
                == Some("*")
            {
                found.problem(
                    place,
                    format!("`{name}` has no version requirement: add one"),
                );
            }
            let features = what.get("features").and_then(Value::as_array);
            let fakes = features.is_some_and(|all| all.contains(&TEST_FEATURE.into()));
            if fakes && !in_tests {
                found.problem(place, format!("`{name}/{TEST_FEATURE}` is for tests only"));
            }
        }
    }
}

/// All dependency tables, including those of single platforms.
fn tables(manifest: &Table) -> Vec<(&str, &Table)> {
    const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(|all| all.values());
    std::iter::once(manifest)
        .chain(platforms.filter_map(Value::as_table))
        .flat_map(|table| KINDS.map(|kind| (kind, table.get(kind).and_then(Value::as_table))))
        .filter_map(|(kind, table)| Some((kind, table?)))
        .collect()
}

fn check_sources(rule: &CrateRule, root: &Path, dir: &Path, found: &mut TidyReport) -> Result<()> {
    for path in paths::files(&dir.join("src"), "rs")? {
        let place = paths::relative(root, &path);
        let of_tests = place.ends_with("/tests.rs") || place.contains("/tests/");
        if rule.forbidden_text.is_empty() || of_tests {
            continue;
        }
        let text = paths::read(&path)?;
        for (at, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in rule
                .forbidden_text
                .iter()
                .filter(|word| code.contains(*word))
            {
                let place = format!("{place}:{}", at + 1);
                found.problem(
                    &place,
                    format!("`{word}` is not allowed in `{}`", rule.name),
                );
            }
        }
    }
    Ok(())
}

/// The text before its inline tests, which come last in a file.
fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    &text[..tests.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(name: &str, manifest: &str) -> Vec<String> {
        let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
        let mut found = TidyReport::default();
        check_dependencies(rule, &manifest.parse().unwrap(), "Cargo.toml", &mut found);
        found.problems
    }

    #[test]
    fn upward_dependencies_and_forbidden_crates_are_rejected() {
        let bad = "[dependencies]\ntramline-engine = {}\n[target.'cfg(unix)'.dependencies]\ntokio = \"1\"";
        assert_eq!(problems("tramline-workflow", bad).len(), 2);
        let good =
            "[dependencies]\ntramline-expr = {}\n[dev-dependencies]\ntramline-test-server = {}";
        assert!(problems("tramline-workflow", good).is_empty());
    }

    #[test]
    fn fakes_are_for_tests() {
        let dependency = "tramline-engine = { path = \"x\", features = [\"testing\"] }";
        assert_eq!(
            problems(
                "tramline-mcp-server",
                &format!("[dependencies]\n{dependency}")
            )
            .len(),
            1
        );
        assert!(
            problems(
                "tramline-mcp-server",
                &format!("[dev-dependencies]\n{dependency}")
            )
            .is_empty()
        );
    }
}
