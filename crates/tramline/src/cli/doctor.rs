//! `tramline doctor`: is everything present, and does every server respond?

use super::trust::{self, TrustFlag};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, mcp_clients, output};
use crate::app::{self, App, DataFiles};
use crate::config::Config;
use serde_json::{Value, json};
use std::path::PathBuf;
use tramline_engine::ports::Tools;
use tramline_formats::yaml_graph::GraphDocument;

mod data_directory;
pub(super) mod deep;
mod finding;

pub(super) use finding::Finding;

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

pub(super) async fn main(common: CommonArgs, verb: Doctor) -> CliResult {
    let mut config = common.config(&verb.reach)?;
    let mut findings = vec![Finding::ok("tramline", env!("CARGO_PKG_VERSION"))];
    let elsewhere = documents::known_servers(&config)?;
    let mut read = Vec::new();
    for path in &verb.files {
        let document = documents::read_valid(path, &elsewhere, common.json)?;
        let tools = documents::list_tools(&document);
        findings.push(Finding::ok(path.display().to_string(), tools));
        read.push(document);
    }
    let named = verb.files.iter().map(PathBuf::as_path).zip(&read);
    trust::restrict_starts(&mut config, named, &verb.files, verb.trusting)?;
    let details = check(&config, &read, verb.deep, &mut findings).await?;
    let is_ok = findings.iter().all(|finding| finding.is_ok);
    if common.json {
        let mut report = json!({ "ok": is_ok, "findings": Finding::all_as_json(&findings) });
        if let (Value::Object(report), Value::Object(details)) = (&mut report, details) {
            report.extend(details);
        }
        output::line(&report);
    } else {
        Finding::print_all(&findings);
    }
    Ok(if is_ok { Exit::Done } else { Exit::Failed })
}

/// Checks everything and returns the details for scripts.
async fn check(
    config: &Config,
    documents: &[GraphDocument],
    is_deep: bool,
    findings: &mut Vec<Finding>,
) -> Result<Value, CliError> {
    let files = DataFiles::of(config);
    let opened = match app::open(config, documents) {
        Ok(opened) => opened,
        Err(error) => {
            findings.push(Finding::bad("data directory", error.to_string()));
            let data = data_directory::files(&files, findings);
            return Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "data": data }));
        }
    };
    let says = match is_deep {
        true => files.dir.display().to_string(),
        false => format!("{} (--deep reads all of it)", files.dir.display()),
    };
    findings.push(Finding::ok("data directory", says));
    let data = data_directory::files(&files, findings);
    let runs = data_directory::runs(&opened.engine, findings).await;
    let key = data_directory::key_file(&files.key, findings);
    let clock = data_directory::clock(&opened.engine, findings).await;
    settings(&opened, findings).await;
    let clients = mcp_clients::check_clients(findings);
    let servers = servers(&opened, findings).await;
    if is_deep {
        findings.extend(deep::verify_all(config, &opened.engine).await?);
    }
    opened.close().await;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "data": data,
        "runs": runs,
        "key_file": key,
        "clock": clock,
        "clients": clients,
        "servers": servers,
    }))
}

async fn settings(opened: &App, findings: &mut Vec<Finding>) {
    match opened.settings.list(&**opened.engine.workflows()).await {
        Err(fault) => findings.push(Finding::bad("settings", fault.to_string())),
        Ok(all) => {
            for one in all {
                if let Err(why) = one.value {
                    findings.push(Finding::bad(format!("setting {}", one.key), why));
                }
            }
        }
    }
}

/// Starts the servers that may be started.
async fn servers(opened: &App, findings: &mut Vec<Finding>) -> Vec<Value> {
    let mut all = Vec::new();
    for listing in opened.servers.list().await {
        let name = listing.server.to_string();
        all.push(match listing.tools {
            Ok(tools) => {
                findings.push(Finding::ok(name.clone(), format!("{} tools", tools.len())));
                json!({ "server": name, "ok": true, "tools": tools.len() })
            }
            Err(failure) => {
                let failure = opened.settings.redact_failure(failure).to_string();
                findings.push(Finding::bad(name.clone(), failure.clone()));
                json!({ "server": name, "ok": false, "error": failure })
            }
        });
    }
    if all.is_empty() {
        findings.push(Finding::ok(
            "servers",
            "none to check: name documents, or `--mcp-config FILE`",
        ));
    }
    all
}
