//! `tramline check`: every flaw of every document, with its position.

use super::documents::DocumentFlaws;

use super::lock::{ToolLock, lock_path};
use super::output::counted;
use super::trust::{self, TrustFlag};
use super::{
    AccessArgs, CliError, CliResult, CommonArgs, Exit, diagnostics, documents, output, sop,
    tool_check,
};
use crate::app;
use crate::config::Config;
use std::path::{Path, PathBuf};
use tool_check::LIST_TOOLS_TIMEOUT;
use tramline_expr::Str;
use tramline_formats::KnownServers;
use tramline_formats::yaml_graph::GraphDocument;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::flaw::Severity;

/// Check documents and show every flaw with its position.
#[derive(clap::Args)]
pub(super) struct Check {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Do not start servers to verify that the called tools exist
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    trusting: TrustFlag,
    #[command(flatten)]
    reach: AccessArgs,
}

/// The flaws of all documents.
#[derive(Default)]
struct CheckReport {
    flawed: Vec<DocumentFlaws>,
    /// Servers whose tools could not be checked.
    unlisted: Vec<UnlistedServer>,
}

/// A server that was not asked for its tools.
struct UnlistedServer {
    code: &'static str,
    server: Str,
    message: String,
    /// The command that trusts it, if trust is what is missing.
    trust_command: Option<String>,
}

pub(super) async fn main(common: CommonArgs, verb: Check) -> CliResult {
    let mut config = common.config(&verb.reach)?;
    let elsewhere = documents::known_servers(&config)?;
    let mut found = CheckReport::default();
    let mut sound = Vec::new();
    for path in &verb.files {
        if sop::is_procedure(path)? {
            found.flawed.push(sop::read_with_flaws(path)?.1);
            continue;
        }
        match documents::read(path, KnownServers::Configured(&elsewhere)) {
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
        trust::restrict_starts(&mut config, read, &verb.files, verb.trusting)?;
        check_with_servers(&config, &elsewhere, &sound, &verb.files, &mut found).await?;
    }
    Ok(found.show(common.json))
}

/// Adds the flaws that only servers can reveal.
async fn check_with_servers(
    config: &Config,
    elsewhere: &[Str],
    sound: &[(usize, &Path, GraphDocument)],
    files: &[PathBuf],
    found: &mut CheckReport,
) -> Result<(), CliError> {
    let documents = || sound.iter().map(|(_, _, document)| document);
    let settings = app::settings_read_only(config)?;
    let equipment = app::tool_sources(config, documents(), settings)?;
    let saved = app::saved_names(config).await;
    let answers = tool_check::list_tools(&equipment, documents(), saved, LIST_TOOLS_TIMEOUT).await;
    for (at, path, document) in sound {
        // The schemas of the servers' tools are known now.
        let again =
            documents::read_with(path, KnownServers::Configured(elsewhere), answers.schemas());
        found.flawed[*at] = match again {
            Ok((_, flawed)) | Err(Ok(flawed)) => flawed,
            // It was readable a moment ago; what was found then still holds.
            Err(Err(_)) => continue,
        };
        found.flawed[*at].flaws.extend(answers.flaws(document));
        if let Some(lock) = ToolLock::read(&lock_path(path))? {
            let changed = lock.flaws(document, |name| answers.tool(name));
            found.flawed[*at].flaws.extend(changed);
        }
    }
    for (server, failure) in answers.failed_servers() {
        let says = format!("could not list the tools of `{server}`: {failure}");
        found.unlisted.push(UnlistedServer {
            code: failure.kind.code(),
            server: server.clone(),
            message: says,
            trust_command: (failure.kind == FailureKind::Forbidden)
                .then(|| trust::trust_command(config, files)),
        });
    }
    equipment.servers.shutdown().await;
    Ok(())
}

impl CheckReport {
    fn show(&self, json: bool) -> Exit {
        let flaws = || self.flawed.iter().flat_map(|flawed| &flawed.flaws);
        let is_error = |code: tramline_workflow::flaw::FlawCode| code.severity() == Severity::Error;
        let errors = flaws().filter(|flaw| is_error(flaw.code)).count();
        let warnings = flaws().count() - errors + self.unlisted.len();
        if json {
            let mut all: Vec<_> = self.flawed.iter().flat_map(documents::as_json).collect();
            all.extend(self.unlisted.iter().map(|it| {
                let mut told = serde_json::json!({
                    "code": it.code,
                    "severity": "warning",
                    "server": it.server,
                    "message": it.message,
                });
                if let Some(allow) = &it.trust_command {
                    told["allow"] = allow.as_str().into();
                }
                told
            }));
            let counts = [
                ("documents", self.flawed.len().into()),
                ("errors", errors.into()),
                ("warnings", warnings.into()),
            ];
            output::list("flaws", all, counts);
        } else {
            self.flawed.iter().for_each(diagnostics::show);
            for UnlistedServer {
                code,
                message: says,
                ..
            } in &self.unlisted
            {
                output::status_line(&format!("warning[{code}]: {says}"));
            }
            output::status_line(&summary(self.flawed.len(), errors, warnings));
        }
        if errors > 0 {
            Exit::BadInput
        } else {
            Exit::Done
        }
    }
}

fn summary(files: usize, errors: usize, warnings: usize) -> String {
    match (errors, warnings) {
        (0, 0) => format!("{} valid", counted(files, "document")),
        _ => format!(
            "{}, {} in {}",
            counted(errors, "error"),
            counted(warnings, "warning"),
            counted(files, "document")
        ),
    }
}
