//! `tramline check`: every flaw of every document, at its place.

use super::documents::Flawed;
use super::trust::{self, Trusting};
use super::{Common, Done, Exit, Reach, documents, frames, output, probe, sop};
use crate::config::Config;
use crate::wire;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tramline_core::Str;
use tramline_core::failure::FailureKind;
use tramline_core::flaw::Severity;
use tramline_core::formats::Elsewhere;
use tramline_core::formats::yaml_graph::Document;

/// Servers that do not list their tools in this time go unasked: a check is waited for.
const ASK_MAX: Duration = Duration::from_secs(15);

/// Check documents and show every flaw at its place.
#[derive(clap::Args)]
pub(super) struct Check {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Do not start servers to ask whether they have the tools that are called
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    reach: Reach,
}

/// What was found, over all documents.
#[derive(Default)]
struct Found {
    flawed: Vec<Flawed>,
    /// What kept servers from being asked.
    unasked: Vec<Unasked>,
}

/// A server that was not asked for its tools.
struct Unasked {
    code: &'static str,
    server: Str,
    says: String,
    /// The command that allows it to be asked, where that is what is missing.
    allow: Option<String>,
}

pub(super) async fn main(common: Common, verb: Check) -> Done {
    let mut config = common.config(&verb.reach)?;
    let elsewhere = documents::elsewhere(&config)?;
    let mut found = Found::default();
    let mut sound = Vec::new();
    for path in &verb.files {
        if sop::is_one(path)? {
            found.flawed.push(sop::look(path)?.1);
            continue;
        }
        match documents::read(path, Elsewhere::Configured(&elsewhere)) {
            Ok((read, warned)) => {
                sound.push((found.flawed.len(), path.as_path(), read.document));
                found.flawed.push(warned);
            }
            Err(Ok(flawed)) => found.flawed.push(flawed),
            Err(Err(stopped)) => return Err(stopped),
        }
    }
    if !verb.offline {
        let read = sound.iter().map(|(_, path, document)| (*path, document));
        trust::look(&mut config, read, &verb.files, verb.trusting)?;
        ask(&config, &sound, &verb.files, &mut found).await?;
    }
    Ok(found.show(common.json))
}

/// Adds the flaws that only the servers can tell of.
async fn ask(
    config: &Config,
    sound: &[(usize, &Path, Document)],
    files: &[PathBuf],
    found: &mut Found,
) -> Result<(), wire::Trouble> {
    let documents = || sound.iter().map(|(_, _, document)| document);
    let settings = wire::settings_to_look(config)?;
    let equipment = wire::equip(config, documents(), settings)?;
    let saved = wire::saved(config).await;
    let answers = probe::ask(&equipment, documents(), saved, ASK_MAX).await;
    for (at, _, document) in sound {
        found.flawed[*at].flaws.extend(answers.flaws(document));
    }
    for (server, failure) in answers.silent() {
        let says = format!("`{server}` could not be asked for its tools: {failure}");
        found.unasked.push(Unasked {
            code: failure.kind.code(),
            server: server.clone(),
            says,
            allow: (failure.kind == FailureKind::Forbidden).then(|| trust::allowing(config, files)),
        });
    }
    equipment.servers.shutdown().await;
    Ok(())
}

impl Found {
    fn show(&self, json: bool) -> Exit {
        let flaws = || self.flawed.iter().flat_map(|flawed| &flawed.flaws);
        let is_error = |code: tramline_core::flaw::Code| code.severity() == Severity::Error;
        let errors = flaws().filter(|flaw| is_error(flaw.code)).count();
        let warnings = flaws().count() - errors + self.unasked.len();
        if json {
            let mut all: Vec<_> = self.flawed.iter().flat_map(documents::as_json).collect();
            all.extend(self.unasked.iter().map(|it| {
                let mut told = serde_json::json!({
                    "code": it.code,
                    "severity": "warning",
                    "server": it.server,
                    "message": it.says,
                });
                if let Some(allow) = &it.allow {
                    told["allow"] = allow.as_str().into();
                }
                told
            }));
            output::line(&all);
        } else {
            self.flawed.iter().for_each(frames::show);
            for Unasked { code, says, .. } in &self.unasked {
                output::say(&format!("warning[{code}]: {says}"));
            }
            output::say(&summary(self.flawed.len(), errors, warnings));
        }
        if errors > 0 {
            Exit::BadInput
        } else {
            Exit::Done
        }
    }
}

fn summary(files: usize, errors: usize, warnings: usize) -> String {
    let many =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, 0) => format!("{} sound", many(files, "document")),
        _ => format!(
            "{}, {} in {}",
            many(errors, "error"),
            many(warnings, "warning"),
            many(files, "document")
        ),
    }
}
