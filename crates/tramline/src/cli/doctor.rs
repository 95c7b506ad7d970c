//! `tramline doctor`: is everything present, and does every server respond?

use super::trust::{self, TrustFlag};
use super::{AccessArgs, CliResult, CommonArgs, Exit, documents, output};
use crate::app;
use crate::config::default_data_dir;
use std::path::PathBuf;
use tramline_engine::ports::Tools;

/// Check that everything required is present and every server responds.
#[derive(clap::Args)]
pub(super) struct Doctor {
    /// Documents whose servers to check
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read the whole data directory and verify its checksums
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    trusting: TrustFlag,
    #[command(flatten)]
    reach: AccessArgs,
}

struct Finding {
    is_ok: bool,
    subject: String,
    message: String,
}

mod deep;

pub(super) async fn main(common: CommonArgs, verb: Doctor) -> CliResult {
    let mut config = common.config(&verb.reach)?;
    let mut findings = Vec::new();
    let mut find = |sound: bool, what: &str, says: String| {
        findings.push(Finding {
            is_ok: sound,
            subject: what.to_owned(),
            message: says,
        });
    };
    find(true, "tramline", env!("CARGO_PKG_VERSION").to_owned());
    let elsewhere = documents::known_servers(&config)?;
    let mut read = Vec::new();
    for path in &verb.files {
        let document = documents::read_valid(path, &elsewhere, common.json)?;
        find(
            true,
            &path.display().to_string(),
            documents::list_tools(&document),
        );
        read.push(document);
    }
    let named = verb.files.iter().map(PathBuf::as_path).zip(&read);
    trust::restrict_starts(&mut config, named, &verb.files, verb.trusting)?;
    let dir = common.data_dir.clone().unwrap_or_else(default_data_dir);
    match app::open(&config, &read) {
        Ok(house) => {
            let says = match verb.deep {
                true => dir.display().to_string(),
                false => format!("{} (--deep reads all of it)", dir.display()),
            };
            find(true, "data directory", says);
            match house.settings.list(&**house.engine.workflows()).await {
                Err(fault) => find(false, "settings", fault.to_string()),
                Ok(all) => {
                    for one in all {
                        if let Err(why) = one.value {
                            find(false, &format!("setting {}", one.key), why);
                        }
                    }
                }
            }
            for listing in house.servers.list().await {
                match listing.tools {
                    Ok(tools) => find(true, &listing.server, format!("{} tools", tools.len())),
                    Err(failure) => {
                        let failure = house.settings.redact_failure(failure);
                        find(false, &listing.server, failure.to_string());
                    }
                }
            }
            if verb.deep {
                for problem in deep::verify_all(&config, &house.engine).await? {
                    find(problem.is_ok, &problem.subject, problem.message);
                }
            }
            house.close().await;
        }
        Err(trouble) => find(false, "data directory", trouble.to_string()),
    }
    let sound = findings.iter().all(|finding| finding.is_ok);
    if common.json {
        let shown: Vec<_> = findings
            .iter()
            .map(
                |Finding {
                     is_ok: sound,
                     subject: what,
                     message: says,
                 }| serde_json::json!({ "ok": sound, "what": what, "says": says }),
            )
            .collect();
        output::line(&serde_json::json!({ "ok": sound, "findings": shown }));
    } else {
        for Finding {
            is_ok: sound,
            subject: what,
            message: says,
        } in &findings
        {
            output::text_line(&format!(
                "{} {what}: {says}",
                if *sound { "✓" } else { "✗" }
            ));
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Failed })
}
