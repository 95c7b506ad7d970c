//! `tramline backup`: copies the database while it is in use.

use super::output;
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit};
use crate::app::{self, DataFiles};
use serde_json::json;
use std::path::{Path, PathBuf};
use tramline_engine::clock;

/// Copy all runs, settings and saved workflows into one file, while Tramline is in use
#[derive(clap::Args)]
pub(super) struct Backup {
    /// A new file, or an existing directory: the file in it is then named by the time
    #[arg(value_name = "FILE|DIR")]
    target: PathBuf,
    /// Also copy the key that encrypts settings, beside the copy. Who has both can read the secrets
    #[arg(long)]
    include_key: bool,
}

pub(super) async fn main(common: CommonArgs, verb: Backup) -> CliResult {
    let config = common.config(&AccessArgs::default())?;
    if config.store.is_some() {
        return Err(CliError::bad_input(
            "runs are in PostgreSQL: back that database up with its own tools, such as `pg_dump`",
        ));
    }
    let files = DataFiles::of(&config);
    let Some(database) = files.database() else {
        return Err(CliError::bad_input(format!(
            "there is nothing to back up: {} has no database. Name another directory with --data-dir",
            files.dir.display()
        )));
    };
    let target = match verb.target.is_dir() {
        true => verb.target.join(app::backup_name(clock::now_ms())),
        false => verb.target,
    };
    let copied = files.copy_database(&target).await?;
    let verified = app::verify_copy(&target).await?;
    let has_key = files.key.exists();
    let key_copy = match has_key && verb.include_key {
        true => Some(copy_key(&files, &target)?),
        false => None,
    };
    let problems: Vec<_> = verified.problems.iter().map(|one| &one.what).collect();
    if common.json {
        output::line(&json!({
            "file": target.display().to_string(),
            "bytes": copied.bytes,
            "layout": copied.layout,
            "runs": verified.runs,
            "events": verified.events,
            "documents": verified.documents,
            "problems": problems,
            "key_file": {
                "file": files.key.display().to_string(),
                "exists": has_key,
                "copy": key_copy.map(|copy| copy.display().to_string()),
            },
        }));
    } else {
        output::text_line(&format!(
            "copied {} to {}",
            database.display(),
            target.display()
        ));
        output::text_line(&format!(
            "{} runs with {} events and {} documents, {}",
            verified.runs,
            verified.events,
            verified.documents,
            output::bytes(copied.bytes)
        ));
        match (has_key, key_copy) {
            (_, Some(copy)) => output::text_line(&format!("copied the key to {}", copy.display())),
            (true, None) => output::text_line(&format!(
                "not copied: the key {}. Without it, the stored secrets cannot be decrypted; keep it \
                 in another place than the backups",
                files.key.display()
            )),
            (false, None) => {}
        }
        for problem in &problems {
            output::print_warning(problem);
        }
        if !problems.is_empty() {
            output::print_error(
                "the data was damaged before it was copied: `tramline doctor --deep` says what to do",
            );
        }
    }
    Ok(match problems.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

fn copy_key(files: &DataFiles, target: &Path) -> Result<PathBuf, CliError> {
    let mut name = target.as_os_str().to_owned();
    name.push(".key");
    let copy = PathBuf::from(name);
    let copied = files.copy_key(&copy);
    copied.map(|()| copy.clone()).map_err(|error| CliError {
        exit: Exit::Failed,
        message: format!(
            "the database was copied to {}, but the key could not be copied to {}: {error}",
            target.display(),
            copy.display()
        ),
    })
}
