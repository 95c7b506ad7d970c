//! The tables of docs/supply-chain.md: native code, build scripts and procedural macros, from the
//! lock file.

use super::tree::{self, Crate, Tree};
use crate::paths;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The platform of the tables, wherever they are generated.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
const PAGE: &str = "docs/supply-chain.md";
const BEGIN: &str = "<!-- written by `cargo xtask supply-chain` -->";
const END: &str = "<!-- end -->";

/// Why each crate with native code is used, and how it is updated.
const NATIVE: [(&str, &str, &str); 2] = [
    (
        "libsqlite3-sys",
        "SQLite, the amalgamation that the crate bundles, compiled with the flags of `.cargo/config.toml`: the journal",
        "`cargo update -p libsqlite3-sys` together with rusqlite; read SQLite's release notes and its list of vulnerabilities",
    ),
    (
        "ring",
        "cryptography in C and assembler, from BoringSSL: TLS of the clients for servers and models",
        "`cargo update -p ring`; the only cryptography library ([why](decisions/0038-one-tls-stack.md))",
    ),
];

/// Problems with the page; empty if it is current.
pub(crate) fn stale(root: &Path) -> Result<Vec<String>> {
    let text = paths::read(&root.join(PAGE))?;
    let tree = tree::read(PLATFORM)?;
    let mut wrong = unexplained(&tree);
    if wrong.is_empty() && with_tables(&text, &tree)? != text {
        wrong.push("is stale: run `cargo xtask supply-chain`".to_owned());
    }
    Ok(wrong)
}

pub(super) fn write(root: &Path) -> Result<()> {
    let path = root.join(PAGE);
    let text = with_tables(&paths::read(&path)?, &tree::read(PLATFORM)?)?;
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

fn unexplained(tree: &Tree) -> Vec<String> {
    let explained: BTreeSet<&str> = NATIVE.iter().map(|(name, _, _)| *name).collect();
    let native: BTreeSet<&str> = third_party(tree, |one| one.is_native)
        .map(|one| one.name.as_str())
        .collect();
    let missing = native.difference(&explained);
    let gone = explained.difference(&native);
    missing
        .map(|name| format!("{name} compiles native code: say why in xtask/src/supply/page.rs"))
        .chain(gone.map(|name| {
            format!("{name} has no native code: remove it from xtask/src/supply/page.rs")
        }))
        .collect()
}

/// Third-party crates that match, sorted by name.
fn third_party(tree: &Tree, fits: impl Fn(&Crate) -> bool) -> impl Iterator<Item = &Crate> {
    tree.crates
        .values()
        .filter(move |one| one.checksum.is_some() && fits(one))
}

fn with_tables(text: &str, tree: &Tree) -> Result<String> {
    let (before, rest) = text
        .split_once(BEGIN)
        .context("no begin marker of the tables")?;
    let (_, after) = rest
        .split_once(END)
        .context("no end marker of the tables")?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", tables(tree)))
}

fn tables(tree: &Tree) -> String {
    let mut text = "### Native code\n\n| crate | version | what and why | how it is updated |\n|---|---|---|---|\n".to_owned();
    for one in third_party(tree, |one| one.is_native) {
        let about = NATIVE.iter().find(|(name, _, _)| *name == one.name);
        let (what, updated) = about.map_or(("", ""), |(_, what, updated)| (*what, *updated));
        let bundled =
            sqlite(one).map_or_else(String::new, |version| format!(" (SQLite {version})"));
        text += &format!(
            "| `{}` | {}{bundled} | {what} | {updated} |\n",
            one.name, one.version
        );
    }
    let names = |fits: fn(&Crate) -> bool| {
        let names: BTreeSet<String> = third_party(tree, fits)
            .map(|one| format!("`{}`", one.name))
            .collect();
        (
            names.len(),
            names.into_iter().collect::<Vec<_>>().join(", "),
        )
    };
    let (count, list) = names(|one| one.has_build_script);
    text += &format!(
        "\n### Build scripts\n\n{count} crates run a program when they are built: {list}.\n"
    );
    let (count, list) = names(|one| one.is_macro);
    text +=
        &format!("\n### Procedural macros\n\n{count} crates run inside the compiler: {list}.\n");
    text
}

/// The version of SQLite that a crate bundles.
fn sqlite(one: &Crate) -> Option<String> {
    let header = Path::new(&one.manifest).parent()?.join("sqlite3/sqlite3.h");
    let header = fs::read_to_string(header).ok()?;
    let line = header
        .lines()
        .find(|line| line.starts_with("#define SQLITE_VERSION "))?;
    Some(line.split('"').nth(1)?.to_owned())
}
