//! The dependency tree of the binary, as cargo resolves it.

use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

/// The package whose binary is described.
const ROOT: &str = "tramline";

/// One crate of the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: String,
    pub(super) repository: Option<String>,
    /// The checksum of its archive; our own crates have none.
    pub(super) checksum: Option<String>,
    /// Whether it is linked into the binary, not only used to build it.
    pub(super) is_linked: bool,
    pub(super) has_build_script: bool,
    pub(super) is_macro: bool,
    /// Whether it compiles C or assembler.
    pub(super) is_native: bool,
    /// The path of its manifest.
    pub(super) manifest: String,
    /// Its dependencies, by key.
    pub(super) dependencies: BTreeSet<String>,
}

/// All crates, by `name version`; `root` is the binary's own.
pub(super) struct Tree {
    pub(super) root: String,
    pub(super) crates: BTreeMap<String, Crate>,
}

/// The host platform.
pub(super) fn host() -> Result<String> {
    let output = std::process::Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc did not print its host")?.to_owned())
}

/// Reads the tree for a platform.
pub(super) fn read(target: &str) -> Result<Tree> {
    let mut command = shell::cargo(&["metadata", "--format-version", "1", "--locked"]);
    command.args(["--filter-platform", target]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("cargo metadata ended with {}", output.status);
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let lock = paths::read(&paths::root().join("Cargo.lock"))?;
    resolve(&metadata, &checksums(&lock)?)
}

fn checksums(lock: &str) -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let sums = packages.into_iter().flatten().filter_map(|package| {
        let text = |name: &str| package.get(name)?.as_str();
        let key = format!("{} {}", text("name")?, text("version")?);
        Some((key, text("checksum")?.to_owned()))
    });
    Ok(sums.collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn resolve(metadata: &Value, sums: &BTreeMap<String, String>) -> Result<Tree> {
    let packages: BTreeMap<String, &Value> = list(&metadata["packages"])
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, &Value> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(&node["id"]), node))
        .collect();
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == ROOT)
        .map(|(id, _)| id.clone())
        .context("the binary's package is missing from cargo metadata")?;
    let key = |id: &String| {
        let package = packages.get(id).copied().unwrap_or(&Value::Null);
        format!("{} {}", text(&package["name"]), text(&package["version"]))
    };
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    // A crate that is both linked and used to build counts as linked.
    let mut open = vec![(root.clone(), true)];
    let mut seen = BTreeSet::new();
    while let Some((id, is_linked)) = open.pop() {
        if !seen.insert((id.clone(), is_linked)) {
            continue;
        }
        let package = packages.get(&id).copied().unwrap_or(&Value::Null);
        let entry = crates
            .entry(key(&id))
            .or_insert_with(|| describe(package, sums.get(&key(&id))));
        entry.is_linked |= is_linked && !entry.is_macro;
        let node = nodes.get(&id).copied().unwrap_or(&Value::Null);
        for dependency in list(&node["deps"]) {
            let kinds: Vec<_> = list(&dependency["dep_kinds"])
                .map(|kind| text(&kind["kind"]))
                .collect();
            if kinds.iter().all(|kind| kind == "dev") {
                continue;
            }
            let other = text(&dependency["pkg"]);
            let at_run_time = kinds.iter().any(String::is_empty);
            entry.dependencies.insert(key(&other));
            open.push((other, is_linked && at_run_time && !entry.is_macro));
        }
    }
    Ok(Tree {
        root: key(&root),
        crates,
    })
}

fn describe(package: &Value, checksum: Option<&String>) -> Crate {
    let is = |kind: &str| {
        list(&package["targets"]).any(|target| list(&target["kind"]).any(|it| *it == kind))
    };
    let compiles = list(&package["dependencies"]).any(|dependency| {
        let name = dependency["name"].as_str().unwrap_or_default();
        dependency["kind"] == "build" && matches!(name, "cc" | "cmake")
    });
    Crate {
        name: text(&package["name"]),
        version: text(&package["version"]),
        license: text(&package["license"]),
        repository: package["repository"].as_str().map(str::to_owned),
        checksum: checksum.cloned(),
        is_linked: false,
        has_build_script: is("custom-build"),
        is_macro: is("proc-macro"),
        is_native: compiles || !package["links"].is_null() && is("custom-build"),
        manifest: text(&package["manifest_path"]),
        dependencies: BTreeSet::new(),
    }
}
