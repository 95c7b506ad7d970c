//! `cargo xtask release`: builds every package into `dist/`, installs each one into an empty place
//! and runs the first commands of a new user from it. Nothing is published.
//!
//! `packaging/` has the data of the packages; each file here builds and tries one of them.

use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use glibc::GlibcVersion;
use report::{Outcome, PackageRow};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

mod archive;
mod bundle;
mod crates;
mod debian;
mod files;
mod formula;
mod glibc;
mod image;
mod man_page;
mod npm;
mod process;
mod registry_entry;
mod report;
mod tools;
mod trial;
mod wheel;

/// The platform of the binary.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The newest glibc that the binary may need: that of RHEL 9, Debian 12 and Ubuntu 22.04 or older.
const GLIBC_MAX: GlibcVersion = GlibcVersion {
    major: 2,
    minor: 34,
};

/// What all packages are made of.
struct ReleaseContext {
    version: String,
    /// The glibc that the binary needs.
    glibc: GlibcVersion,
    /// The address of the project, from `Cargo.toml`.
    repository: String,
    /// The address of the release's files.
    releases: String,
    /// The name in the MCP registry.
    mcp_name: String,
    /// The stripped binary.
    binary: PathBuf,
    dist: PathBuf,
    /// Where packages are staged and tried.
    work: PathBuf,
    /// The time of the last commit: archives contain it instead of the current time.
    epoch: u64,
    /// A copy of the MCP registry's own schema, if the caller has one.
    registry_schema: Option<PathBuf>,
}

/// A kind of package.
struct PackageKind {
    name: &'static str,
    /// Builds it and returns its files.
    build: fn(&ReleaseContext) -> Result<Vec<PathBuf>>,
    /// Installs it into an empty place, runs it, and returns what was shown to work.
    try_out: fn(&ReleaseContext) -> Result<String>,
}

/// All kinds. The formula needs the archive, and the registry entry needs the bundle.
const KINDS: &[PackageKind] = &[
    PackageKind {
        name: "archive",
        build: archive::build,
        try_out: archive::try_out,
    },
    PackageKind {
        name: "npm",
        build: npm::build,
        try_out: npm::try_out,
    },
    PackageKind {
        name: "wheel",
        build: wheel::build,
        try_out: wheel::try_out,
    },
    PackageKind {
        name: "debian",
        build: debian::build,
        try_out: debian::try_out,
    },
    PackageKind {
        name: "formula",
        build: formula::build,
        try_out: formula::try_out,
    },
    PackageKind {
        name: "bundle",
        build: bundle::build,
        try_out: bundle::try_out,
    },
    PackageKind {
        name: "registry",
        build: registry_entry::build,
        try_out: registry_entry::try_out,
    },
    PackageKind {
        name: "image",
        build: image::build,
        try_out: image::try_out,
    },
    PackageKind {
        name: "crates",
        build: crates::build,
        try_out: crates::try_out,
    },
    PackageKind {
        name: "sbom",
        build: build_sbom,
        try_out: try_sbom,
    },
];

/// The arguments of the command.
#[derive(Default)]
struct ReleaseOptions {
    binary: Option<PathBuf>,
    registry_schema: Option<PathBuf>,
    only: Vec<String>,
    json: bool,
}

/// Builds and tries all packages and prints the results.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let context = prepare(&options)?;
    let kinds = KINDS.iter();
    let kinds: Vec<_> = kinds
        .filter(|kind| options.only.is_empty() || options.only.iter().any(|name| name == kind.name))
        .collect();
    let mut rows: Vec<_> = kinds.iter().map(|kind| built(kind, &context)).collect();
    write_checksums(&context.dist)?;
    for (kind, row) in kinds.iter().zip(&mut rows) {
        if row.outcome.is_ok() {
            eprintln!("\n== try {}", kind.name);
            let begun = Instant::now();
            row.outcome = Outcome::from((kind.try_out)(&context));
            row.try_seconds = begun.elapsed().as_secs_f64();
        }
    }
    if options.json {
        println!("{:#}", report::json(&context, &rows));
    } else {
        print!("{}", report::table(&rows));
    }
    match rows.iter().filter(|row| !row.outcome.is_ok()).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} packages failed", rows.len()),
    }
}

fn built(kind: &PackageKind, context: &ReleaseContext) -> PackageRow {
    eprintln!("\n== build {}", kind.name);
    let begun = Instant::now();
    let result = (kind.build)(context);
    let build_seconds = begun.elapsed().as_secs_f64();
    let (files, outcome) = match result {
        Ok(files) => (files, Outcome::Ok(String::new())),
        Err(error) => (Vec::new(), Outcome::Failed(format!("{error:#}"))),
    };
    PackageRow {
        name: kind.name,
        bytes: files
            .iter()
            .filter_map(|path| fs::metadata(path).ok())
            .map(|found| found.len())
            .sum(),
        files: files
            .iter()
            .map(|path| paths::relative(&paths::root(), path))
            .collect(),
        build_seconds,
        try_seconds: 0.0,
        outcome,
    }
}

fn parse(arguments: &[String]) -> Result<ReleaseOptions> {
    let mut options = ReleaseOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--binary" => options.binary = Some(PathBuf::from(value()?)),
            "--registry-schema" => options.registry_schema = Some(PathBuf::from(value()?)),
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            "--json" => options.json = true,
            _ => bail!(
                "unknown argument `{argument}`; use --binary, --only, --registry-schema or --json"
            ),
        }
    }
    let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    if let Some(unknown) = options
        .only
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        bail!("unknown package `{unknown}`; use {}", known.join(", "));
    }
    Ok(options)
}

/// Builds or takes the binary, checks what it needs, and empties `dist/`.
fn prepare(options: &ReleaseOptions) -> Result<ReleaseContext> {
    let root = paths::root();
    let manifest: toml::Table = paths::read(&root.join("Cargo.toml"))?.parse()?;
    let package = |key: &str| {
        let value = manifest["workspace"]["package"]
            .get(key)
            .and_then(toml::Value::as_str);
        value
            .map(str::to_owned)
            .with_context(|| format!("Cargo.toml has no workspace.package.{key}"))
    };
    let (version, repository) = (package("version")?, package("repository")?);
    let source = match &options.binary {
        Some(path) => {
            fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?
        }
        None => {
            let release = [
                "build",
                "--release",
                "--locked",
                "-p",
                "tramline",
                "--bin",
                "tramline",
            ];
            shell::run(&mut shell::cargo(&release))?;
            paths::target().join("release/tramline")
        }
    };
    let work = files::fresh(&paths::target().join("release-packages"))?;
    let binary = work.join("tramline");
    process::output(
        process::command("strip")
            .args(["--strip-all", "-o"])
            .arg(&binary)
            .arg(&source),
    )?;
    let glibc = glibc::needed_at_most(&fs::read(&binary)?, GLIBC_MAX)?;
    let printed = process::output(Command::new(&binary).arg("--version"))?;
    if printed.trim() != format!("tramline {version}") {
        bail!(
            "the binary prints {:?}, but the workspace has version {version}",
            printed.trim()
        );
    }
    let commit_time = process::output(
        Command::new("git")
            .args(["log", "-1", "--format=%ct"])
            .current_dir(&root),
    )?;
    let dist = root.join("dist");
    if options.only.is_empty() {
        files::fresh(&dist)?;
    }
    fs::create_dir_all(&dist)?;
    Ok(ReleaseContext {
        releases: format!("{repository}/releases/download/v{version}"),
        mcp_name: mcp_name(&repository)?,
        version,
        glibc,
        repository,
        binary,
        dist,
        work,
        epoch: commit_time.trim().parse()?,
        registry_schema: options.registry_schema.clone(),
    })
}

/// The name in the MCP registry: the owner's namespace, and the project.
fn mcp_name(repository: &str) -> Result<String> {
    let address = repository
        .strip_prefix("https://")
        .context("the repository has no https address")?;
    let mut parts = address.trim_end_matches('/').split('/');
    let host = parts.next().unwrap_or_default();
    let rest: Vec<_> = parts.collect();
    match (host, rest.as_slice()) {
        ("github.com", [owner, project]) => Ok(format!("io.github.{owner}/{project}")),
        (_, [.., project]) => {
            let reversed: Vec<_> = host.rsplit('.').collect();
            Ok(format!("{}/{project}", reversed.join(".")))
        }
        (_, []) => bail!("the repository's address {repository} names no project"),
    }
}

/// Writes `SHA256SUMS` with all files of `dist/`, in the format of `sha256sum`.
fn write_checksums(dist: &Path) -> Result<()> {
    let mut lines = Vec::new();
    let mut folders = vec![dist.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("SHA256SUMS") {
                lines.push((paths::relative(dist, &path), files::sha256_of(&path)?));
            }
        }
    }
    lines.sort();
    let lines = lines.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    files::write(&dist.join("SHA256SUMS"), lines.collect::<String>(), 0o644)
}

fn sbom_path(context: &ReleaseContext) -> PathBuf {
    context
        .dist
        .join(format!("tramline-{}-{TARGET}.cdx.json", context.version))
}

fn build_sbom(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let path = sbom_path(context);
    let output = path.display().to_string();
    let arguments = ["--target", TARGET, "--output", &output];
    crate::supply::sbom(&arguments.map(str::to_owned))?;
    Ok(vec![path])
}

fn try_sbom(context: &ReleaseContext) -> Result<String> {
    let bill: serde_json::Value = serde_json::from_str(&paths::read(&sbom_path(context))?)?;
    let components = bill["components"].as_array().map_or(0, Vec::len);
    let is_ours = bill["metadata"]["component"]["version"] == context.version.as_str();
    match (is_ours, components) {
        (true, 1..) => Ok(format!("CycloneDX, {components} components")),
        _ => bail!("the bill does not describe version {}", context.version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_name_is_the_reversed_host_or_the_owner() {
        let name = |address| mcp_name(address).unwrap();
        assert_eq!(
            name("https://tramline.example/tramline"),
            "example.tramline/tramline"
        );
        assert_eq!(
            name("https://github.com/owner/tramline/"),
            "io.github.owner/tramline"
        );
        assert!(mcp_name("https://tramline.example").is_err());
        assert!(mcp_name("git@host:x").is_err());
    }

    #[test]
    fn unknown_packages_are_rejected() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(parse(&words("--only npm,wheel --json")).is_ok());
        assert!(parse(&words("--only rpm")).is_err());
        assert!(parse(&words("--binary")).is_err());
    }
}
