//! `tramline self-check`: can this version read what is stored? Tried on a copy, before an upgrade.

use super::doctor::{Finding, deep};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, output};
use crate::app::{self, App, DataFiles};
use crate::config::Config;
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tramline_engine::clock;

/// Bytes that a copy may need for each byte of the original: itself, and its log while it is migrated.
const SPACE_FACTOR: u64 = 2;

/// Try on a copy whether this version can read everything that is stored
///
/// The copy is opened, migrated if needed, read and removed. The data directory is only read, and may be in use.
#[derive(clap::Args)]
pub(super) struct SelfCheck {
    /// Where the copy is made; it needs up to twice the space of the database [default: the
    /// system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
}

/// A private directory that is removed when dropped.
struct PrivateDir(PathBuf);

impl PrivateDir {
    fn create(above: &Path) -> io::Result<Self> {
        let name = format!("tramline-self-check-{:032x}", clock::random());
        let dir = above.join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Fails if the name is taken, also by a link.
        builder.create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            output::print_warning(&format!(
                "cannot remove the copy {}: {error}; remove it by hand",
                self.0.display()
            ));
        }
    }
}

pub(super) async fn main(common: CommonArgs, verb: SelfCheck) -> CliResult {
    let config = common.config(&AccessArgs::default())?;
    if config.store.is_some() {
        return Err(CliError::bad_input(
            "runs are in PostgreSQL: restore a copy of that database elsewhere, and run \
             `tramline doctor --deep --store URL` of this version on the copy",
        ));
    }
    let files = DataFiles::of(&config);
    let mut findings = vec![Finding::ok("tramline", env!("CARGO_PKG_VERSION"))];
    let mut layouts = None;
    match files.database() {
        None => findings.push(Finding::ok(
            "data directory",
            format!("{} has no database yet", files.dir.display()),
        )),
        Some(_) => {
            let above = verb.temp_dir.unwrap_or_else(std::env::temp_dir);
            layouts = try_copy(&files, &above, &mut findings).await?;
        }
    }
    let is_ok = findings.iter().all(|finding| finding.is_ok);
    if common.json {
        let (stored, supported) = layouts.unzip();
        output::line(&json!({
            "ok": is_ok,
            "findings": Finding::all_as_json(&findings),
            "version": env!("CARGO_PKG_VERSION"),
            "data_dir": files.dir.display().to_string(),
            "layout": { "stored": stored, "supported": supported },
        }));
    } else {
        Finding::print_all(&findings);
    }
    Ok(if is_ok { Exit::Done } else { Exit::Failed })
}

/// Copies the data, reads the copy, and returns the layouts: the stored one and the newest supported one.
async fn try_copy(
    files: &DataFiles,
    above: &Path,
    findings: &mut Vec<Finding>,
) -> Result<Option<(i64, i64)>, CliError> {
    let (database, log) = files.database_bytes();
    let needed = database.saturating_add(log).saturating_mul(SPACE_FACTOR);
    if let Some(disk) = app::disk_space(above).filter(|disk| disk.free_bytes < needed) {
        return Err(CliError::bad_input(format!(
            "{} has {} free, and the check may need {}. Name a directory on a larger disk with --temp-dir",
            above.display(),
            output::bytes(disk.free_bytes),
            output::bytes(needed)
        )));
    }
    let dir = PrivateDir::create(above).map_err(|error| {
        CliError::bad_input(format!(
            "cannot make a directory in {}: {error}. Name another one with --temp-dir",
            above.display()
        ))
    })?;
    let layouts = files.layouts()?;
    let copied = files.copy_to_directory(&dir.0).await?;
    findings.push(Finding::ok(
        "copy",
        format!(
            "{} of {}, removed afterwards",
            output::bytes(copied.bytes),
            files.dir.display()
        ),
    ));
    let config = Config {
        data_dir: Some(dir.0.clone()),
        key_file: Some(files.key.clone()),
        ..Config::default()
    };
    match app::open(&config, &[]) {
        Err(error) => {
            // The message names the copy, which is gone when it is read.
            let message = error.to_string();
            let shown = message.replace(
                &dir.0.display().to_string(),
                &files.dir.display().to_string(),
            );
            findings.push(Finding::bad("layout", shown));
        }
        Ok(opened) => {
            let (stored, supported) = layouts;
            let message = match stored == supported {
                true => format!("{stored}, the current one"),
                false => format!(
                    "{stored}; the first start of this version migrates it to {supported}, which earlier \
                     versions cannot open: make a backup first"
                ),
            };
            findings.push(Finding::ok("layout", message));
            let read = read_everything(&config, &opened, findings).await;
            opened.close().await;
            read?;
        }
    }
    Ok(Some(layouts))
}

/// Reads every run, setting and saved workflow of the copy.
async fn read_everything(
    config: &Config,
    opened: &App,
    findings: &mut Vec<Finding>,
) -> Result<(), CliError> {
    findings.extend(deep::verify_all(config, &opened.engine).await?);
    match opened.settings.list(&**opened.engine.workflows()).await {
        Err(fault) => findings.push(Finding::bad("settings", fault.to_string())),
        Ok(all) => {
            let count = all.len();
            let wrong = all
                .into_iter()
                .filter_map(|setting| Some((setting.key, setting.value.err()?)));
            let before = findings.len();
            findings
                .extend(wrong.map(|(key, error)| Finding::bad(format!("setting {key}"), error)));
            if findings.len() == before && count > 0 {
                findings.push(Finding::ok("settings", format!("{count} can be read")));
            }
        }
    }
    match opened.catalog.library().check_all().await {
        Err(fault) => findings.push(Finding::bad("saved workflows", fault.to_string())),
        Ok((0, _)) => {}
        Ok((count, unusable)) if unusable.is_empty() => {
            findings.push(Finding::ok(
                "saved workflows",
                format!("{count} can be used"),
            ));
        }
        Ok((_, unusable)) => findings.extend(unusable.into_iter().map(|(name, error)| {
            Finding::bad(format!("saved workflow {name}"), error.to_string())
        })),
    }
    Ok(())
}
