//! `tramline doctor`: is everything there, and does every server answer?

use super::trust::{self, Trusting};
use super::{Common, Done, Exit, Reach, documents, output};
use crate::config::default_data_dir;
use crate::wire;
use std::path::PathBuf;
use tramline_engine::seams::Tools;

/// Look whether everything that is needed is there.
#[derive(clap::Args)]
pub(super) struct Doctor {
    /// Documents whose servers are to be asked
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read everything in the data directory and hold it against its checksums
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    reach: Reach,
}

struct Finding {
    sound: bool,
    what: String,
    says: String,
}

mod deep;

pub(super) async fn main(common: Common, verb: Doctor) -> Done {
    let mut config = common.config(&verb.reach)?;
    let mut findings = Vec::new();
    let mut find = |sound: bool, what: &str, says: String| {
        findings.push(Finding {
            sound,
            what: what.to_owned(),
            says,
        });
    };
    find(true, "tramline", env!("CARGO_PKG_VERSION").to_owned());
    let elsewhere = documents::elsewhere(&config)?;
    let mut read = Vec::new();
    for path in &verb.files {
        let document = documents::read_to_use(path, &elsewhere, common.json)?;
        find(
            true,
            &path.display().to_string(),
            documents::tools_of(&document),
        );
        read.push(document);
    }
    let named = verb.files.iter().map(PathBuf::as_path).zip(&read);
    trust::look(&mut config, named, &verb.files, verb.trusting)?;
    let dir = common.data_dir.clone().unwrap_or_else(default_data_dir);
    match wire::open(&config, &read) {
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
                for problem in deep::read_all(&config, &house.engine).await? {
                    find(problem.sound, &problem.what, problem.says);
                }
            }
            house.close().await;
        }
        Err(trouble) => find(false, "data directory", trouble.to_string()),
    }
    let sound = findings.iter().all(|finding| finding.sound);
    if common.json {
        let shown: Vec<_> = findings
            .iter()
            .map(|Finding { sound, what, says }| serde_json::json!({ "ok": sound, "what": what, "says": says }))
            .collect();
        output::line(&serde_json::json!({ "ok": sound, "findings": shown }));
    } else {
        for Finding { sound, what, says } in &findings {
            output::text_line(&format!(
                "{} {what}: {says}",
                if *sound { "✓" } else { "✗" }
            ));
        }
    }
    Ok(if sound { Exit::Done } else { Exit::Failed })
}
