//! Crates point only downwards, and what a crate forbids stays out of it.

use super::Found;
use crate::paths;
use anyhow::{Context, Result};
use std::path::Path;
use toml::{Table, Value};

/// What a crate may depend on, and what may not be in it.
struct Rule {
    name: &'static str,
    /// The crates of ours below it.
    below: &'static [&'static str],
    /// The crates of others that do not belong in it.
    vendors: &'static [&'static str],
    /// What its source may not name, tests left out.
    words: &'static [&'static str],
}

const MCP: &str = "rmcp";
const SQLITE: &str = "rusqlite";
/// What a pure crate has no use for: it does not wait, ask the time or reach outside.
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

const RULES: &[Rule] = &[
    Rule {
        name: "tramline-expr",
        below: &[],
        vendors: IMPURE,
        words: &[
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "SystemTime",
            "tokio",
        ],
    },
    Rule {
        name: "tramline-core",
        below: &["tramline-expr"],
        vendors: IMPURE,
        words: &[
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "std::thread",
            "SystemTime",
            "Instant::now",
            "tokio",
            "async fn",
        ],
    },
    Rule {
        name: "tramline-engine",
        below: &["tramline-core"],
        vendors: VENDORS,
        words: &["std::fs", "std::net", "process::Command"],
    },
    Rule {
        name: "tramline-store",
        below: &["tramline-engine", "tramline-core"],
        vendors: &[MCP, "reqwest", "hyper", "axum", "clap"],
        words: &[
            "tramline_core::graph",
            "tramline_core::run",
            "tramline_core::next",
        ],
    },
    Rule {
        name: "tramline-process",
        below: &[],
        vendors: VENDORS,
        words: &["std::net"],
    },
    Rule {
        name: "tramline-mcp",
        below: &["tramline-engine", "tramline-core", "tramline-process"],
        vendors: &[SQLITE, "clap"],
        words: &[],
    },
    Rule {
        name: "tramline",
        below: &[
            "tramline-mcp",
            "tramline-store",
            "tramline-vault",
            "tramline-builtin",
            "tramline-model",
            "tramline-embed",
            "tramline-process",
            "tramline-web",
            "tramline-telemetry",
            "tramline-engine",
            "tramline-core",
        ],
        vendors: &[MCP, SQLITE, "tracing-subscriber"],
        words: &[],
    },
    Rule {
        name: "tramline-vault",
        below: &["tramline-engine"],
        vendors: &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap", "tokio"],
        words: &["Settings", "tramline_core"],
    },
    Rule {
        name: "tramline-builtin",
        below: &["tramline-engine", "tramline-core", "tramline-process"],
        vendors: &[MCP, SQLITE, "axum", "clap"],
        words: &[
            "tramline_core::graph",
            "tramline_core::run",
            "tramline_core::journal",
        ],
    },
    Rule {
        name: "tramline-embed",
        below: &["tramline-engine", "tramline-core"],
        vendors: &[MCP, SQLITE, "reqwest", "hyper", "axum", "clap"],
        words: &[
            "tramline_core::graph",
            "tramline_core::run",
            "tramline_core::journal",
            "std::net",
        ],
    },
    Rule {
        name: "tramline-model",
        below: &["tramline-engine", "tramline-core"],
        vendors: &[MCP, SQLITE, "axum", "clap"],
        words: &[
            "tramline_core::graph",
            "tramline_core::run",
            "tramline_core::journal",
        ],
    },
    Rule {
        name: "tramline-web",
        below: &["tramline-engine", "tramline-core"],
        vendors: &[MCP, SQLITE, "clap"],
        words: &["std::fs", "process::Command"],
    },
    Rule {
        name: "tramline-telemetry",
        below: &["tramline-engine", "tramline-core"],
        vendors: &[MCP, SQLITE, "axum", "clap"],
        words: &["std::fs", "process::Command", ".append("],
    },
    Rule {
        name: "tramline-unruly",
        below: &[],
        vendors: &[MCP, SQLITE],
        words: &[],
    },
    Rule {
        name: "tramline-bench",
        below: &[
            "tramline-core",
            "tramline",
            "tramline-core",
            "tramline-embed",
            "tramline-engine",
            "tramline-expr",
            "tramline-mcp",
            "tramline-store",
        ],
        vendors: &[SQLITE, "clap"],
        words: &[],
    },
];

/// A server that misbehaves on demand; any crate's tests may start it.
const TEST_CRATE: &str = "tramline-unruly";
/// The feature that brings fakes and contract suites.
const TEST_FEATURE: &str = "testing";

pub(super) fn check(root: &Path, found: &mut Found) -> Result<()> {
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
                depends(rule, &manifest, &place, found);
                names(rule, root, path.parent().unwrap_or(root), found)?;
            }
            None => found.complain(
                &place,
                format!("`{name}` has no rule: say in xtask/src/tidy/arrows.rs what it forbids"),
            ),
        }
    }
    Ok(())
}

fn depends(rule: &Rule, manifest: &Table, place: &str, found: &mut Found) {
    for (kind, table) in tables(manifest) {
        let in_tests = kind == "dev-dependencies";
        for (key, what) in table {
            let name = what.get("package").and_then(Value::as_str).unwrap_or(key);
            let ours = name == "tramline" || name.starts_with("tramline-");
            let for_tests = in_tests && (name == TEST_CRATE || name == rule.name);
            if ours && !for_tests && !rule.below.contains(&name) {
                found.complain(place, format!("`{}` may not point at `{name}`", rule.name));
            }
            if rule.vendors.contains(&name) {
                found.complain(
                    place,
                    format!("`{name}` does not belong in `{}`", rule.name),
                );
            }
            if what
                .as_str()
                .or(what.get("version").and_then(Value::as_str))
                == Some("*")
            {
                found.complain(
                    place,
                    format!("`{name}` is let in at any version: name one"),
                );
            }
            let features = what.get("features").and_then(Value::as_array);
            let fakes = features.is_some_and(|all| all.contains(&TEST_FEATURE.into()));
            if fakes && !in_tests {
                found.complain(place, format!("`{name}/{TEST_FEATURE}` is for tests only"));
            }
        }
    }
}

/// All tables of dependencies, those of single platforms among them.
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

fn names(rule: &Rule, root: &Path, dir: &Path, found: &mut Found) -> Result<()> {
    for path in paths::files(&dir.join("src"), "rs")? {
        let place = paths::relative(root, &path);
        let of_tests = place.ends_with("/tests.rs") || place.contains("/tests/");
        if rule.words.is_empty() || of_tests {
            continue;
        }
        let text = paths::read(&path)?;
        for (at, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in rule.words.iter().filter(|word| code.contains(*word)) {
                let place = format!("{place}:{}", at + 1);
                found.complain(
                    &place,
                    format!("`{word}` does not belong in `{}`", rule.name),
                );
            }
        }
    }
    Ok(())
}

/// The text before its inline tests, which stand last in a file.
fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    &text[..tests.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(name: &str, manifest: &str) -> Vec<String> {
        let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
        let mut found = Found::default();
        depends(rule, &manifest.parse().unwrap(), "Cargo.toml", &mut found);
        found.complaints
    }

    #[test]
    fn arrows_up_and_vendors_are_refused() {
        let bad = "[dependencies]\ntramline-engine = {}\n[target.'cfg(unix)'.dependencies]\ntokio = \"1\"";
        assert_eq!(complaints("tramline-core", bad).len(), 2);
        let good = "[dependencies]\ntramline-expr = {}\n[dev-dependencies]\ntramline-unruly = {}";
        assert!(complaints("tramline-core", good).is_empty());
    }

    #[test]
    fn fakes_are_for_tests() {
        let dependency = "tramline-engine = { path = \"x\", features = [\"testing\"] }";
        assert_eq!(
            complaints("tramline-mcp", &format!("[dependencies]\n{dependency}")).len(),
            1
        );
        assert!(
            complaints("tramline-mcp", &format!("[dev-dependencies]\n{dependency}")).is_empty()
        );
    }
}
