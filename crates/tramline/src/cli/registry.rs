//! `tramline registry`: lists, searches, describes and tries all callable tools.

use super::output::{self, Column, Table};
use super::trust::{self, TrustFlag};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, audit_record, documents, input};
use crate::app::{self, App, RunOrigin};
use crate::protected_paths;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_catalog::registry::{ToolList, UnknownName};
use tramline_engine::Fault;
use tramline_engine::ports::Tool;
use tramline_expr::Value;

mod registry_run;

/// List, search, describe and try all callable tools.
#[derive(clap::Args)]
pub(super) struct Registry {
    #[command(subcommand)]
    verb: RegistryVerb,
}

/// What is listed besides the built-in tools and the saved workflows.
#[derive(clap::Args)]
struct RegistrySources {
    /// A document whose servers and workflows are listed too
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    trusting: TrustFlag,
    #[command(flatten)]
    reach: AccessArgs,
}

#[derive(Subcommand)]
enum RegistryVerb {
    /// List all callable tools; starts only servers that were never listed
    #[command(aliases = ["ls"])]
    List(RegistrySources),
    /// Find tools by description, or by a pattern such as github:*issue*
    #[command(aliases = ["find"])]
    Search {
        /// The description or pattern
        #[arg(required = true)]
        words: Vec<String>,
        /// The maximum number of results
        #[arg(long, default_value_t = 10, value_name = "N")]
        most: usize,
        #[command(flatten)]
        around: RegistrySources,
    },
    /// Describe tools in full
    #[command(aliases = ["describe", "get"])]
    Show {
        /// server:tool, mcp-server-tool, a built-in tool or a workflow's name
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        around: RegistrySources,
    },
    /// List the tools of every server again
    Refresh(RegistrySources),
    /// Run one tool by itself, and show its output and every path in it
    #[command(aliases = ["call"])]
    Run {
        #[command(flatten)]
        trying: registry_run::TryToolArgs,
        #[command(flatten)]
        around: RegistrySources,
    },
}

pub(super) async fn main(common: CommonArgs, verb: Registry) -> CliResult {
    let around = match &verb.verb {
        RegistryVerb::List(around) | RegistryVerb::Refresh(around) => around,
        RegistryVerb::Search { around, .. }
        | RegistryVerb::Show { around, .. }
        | RegistryVerb::Run { around, .. } => around,
    };
    let mut config = common.config(&around.reach)?;
    let elsewhere = documents::known_servers(&config)?;
    let read = |path: &PathBuf| documents::read_valid(path, &elsewhere, common.json);
    let read = around.files.iter().map(read);
    let read = read.collect::<Result<Vec<_>, _>>()?;
    let named = around.files.iter().map(PathBuf::as_path).zip(&read);
    let documents = around
        .files
        .iter()
        .map(|path| protected_paths::document(path));
    config.protected.extend(documents);
    match &verb.verb {
        // Calling a tool is permission to start its server.
        RegistryVerb::Run { .. } => trust::trust_on_run(&config, named, common.json)?,
        RegistryVerb::List(_)
        | RegistryVerb::Refresh(_)
        | RegistryVerb::Search { .. }
        | RegistryVerb::Show { .. } => {
            trust::restrict_starts(&mut config, named, &around.files, around.trusting)?;
        }
    }
    let house = app::open(&config, &read)?;
    let done = match &verb.verb {
        RegistryVerb::List(_) => list(&common, &house, false).await,
        RegistryVerb::Refresh(_) => list(&common, &house, true).await,
        RegistryVerb::Search { words, most, .. } => {
            search(&common, &house, &words.join(" "), *most).await
        }
        RegistryVerb::Show { names, .. } => show(&common, &house, names).await,
        RegistryVerb::Run { trying, .. } => {
            let origin = RunOrigin::of_submitted(&around.files, &config).to_value();
            let work = registry_run::run_tool(&common, &house, trying, origin);
            let command = ("registry run", None);
            let given = Some(trying.recorded());
            audit_record::run_recorded(&house.engine, command, given, work).await
        }
    };
    house.close().await;
    done
}

async fn list(common: &CommonArgs, house: &App, anew: bool) -> CliResult {
    let registry = house.catalog.registry();
    let list = match anew {
        true => registry.refresh().await,
        false => registry.list().await,
    };
    let list = list.map_err(Fault::from)?;
    if common.json {
        print_nodes(list.tools.iter().map(|tool| tool_json(tool)), &list);
    } else {
        print_table(list.tools.iter().map(|tool| &**tool));
        warn_failed_servers(&list);
        output::status_line(&output::counted(list.tools.len(), "node"));
    }
    Ok(Exit::Done)
}

async fn search(common: &CommonArgs, house: &App, words: &str, most: usize) -> CliResult {
    let registry = house.catalog.registry();
    if words.contains('*') {
        let (list, found) = registry
            .find_by_pattern(words, most)
            .await
            .map_err(Fault::from)?;
        if common.json {
            print_nodes(found.tools.iter().map(|tool| tool_json(tool)), &list);
        } else {
            if !found.tools.is_empty() {
                print_table(found.tools.iter().map(|tool| &**tool));
            }
            warn_failed_servers(&list);
            if found.tools.is_empty() {
                output::status_line(&no_matches(words));
            }
        }
        return Ok(Exit::Done);
    }
    let (list, hits) = registry.search(words, most).await.map_err(Fault::from)?;
    if common.json {
        let told = |hit: &tramline_catalog::registry::ToolHit| {
            let mut told = tool_json(&hit.tool);
            told["confidence"] = json!(hit.confidence);
            told["reasons"] = json!(hit.reasons);
            told
        };
        print_nodes(hits.iter().map(told), &list);
        return Ok(Exit::Done);
    }
    let mut table = Table::new([
        Column::fixed("SURE").right(),
        Column::flexible("TOOL", 22),
        Column::flexible("DESCRIPTION", 16),
        Column::flexible("WHY", 12),
    ]);
    for hit in &hits {
        let sure = (hit.confidence * 100.0).round();
        table.row([
            format!("{sure} %"),
            hit.tool.name.to_string(),
            first_line(&hit.tool),
            hit.reasons.join("; "),
        ]);
    }
    if !hits.is_empty() {
        table.print();
    }
    warn_failed_servers(&list);
    if hits.is_empty() {
        output::status_line(&no_matches(words));
    }
    Ok(Exit::Done)
}

async fn show(common: &CommonArgs, house: &App, names: &[String]) -> CliResult {
    let mut shown = Vec::new();
    for name in names {
        let found = house.catalog.registry().find(name).await;
        let tool = found.map_err(|unknown| CliError::bad_input(unknown_name_message(&unknown)))?;
        let mut told = tool_json(&tool);
        told["title"] = json!(tool.title);
        told["description"] = json!(tool.description);
        told["inputs"] = Json::from(&tool.input_schema);
        told["outputs"] = tool.output_schema.as_ref().map_or(Json::Null, Json::from);
        told["read_only"] = json!(tool.hints.read_only);
        told["destructive"] = json!(tool.hints.destructive);
        shown.push(told);
    }
    if common.json {
        output::line(&json!({ "nodes": shown }));
        return Ok(Exit::Done);
    }
    for told in shown {
        output::json(&serde_json::to_string_pretty(&told).unwrap_or_default());
    }
    Ok(Exit::Done)
}

/// The error for an unknown name, with suggestions.
fn unknown_name_message(unknown: &UnknownName) -> String {
    match unknown.suggestions.as_slice() {
        [] => format!(
            "{}; `tramline registry list` lists all tools",
            unknown.message
        ),
        near => format!("{}; did you mean {}?", unknown.message, near.join(" or ")),
    }
}

fn no_matches(words: &str) -> String {
    format!("nothing matches `{words}`; `tramline registry list` lists all tools")
}

fn tool_json(tool: &Tool) -> Json {
    json!({ "node_type": tool.name.to_string(), "description": first_line(tool) })
}

fn first_line(tool: &Tool) -> String {
    let description = tool.description.as_deref().unwrap_or_default();
    description.lines().next().unwrap_or_default().to_owned()
}

fn print_nodes(nodes: impl Iterator<Item = Json>, list: &ToolList) {
    output::list(
        "nodes",
        nodes,
        [("unreachable", failed_servers(list).into())],
    );
}

fn print_table<'t>(tools: impl Iterator<Item = &'t Tool>) {
    let mut table = Table::new([
        Column::flexible("TOOL", 24),
        Column::flexible("DESCRIPTION", 16),
    ]);
    for tool in tools {
        table.row([tool.name.to_string(), first_line(tool)]);
    }
    table.print();
}

fn failed_servers(list: &ToolList) -> Vec<Json> {
    let told = list.unavailable.iter();
    told.map(|(server, failure)| json!({ "server": server, "message": failure.to_string() }))
        .collect()
}

fn warn_failed_servers(list: &ToolList) {
    for (server, failure) in &list.unavailable {
        output::status_line(&format!(
            "could not list the tools of `{server}`: {failure}"
        ));
    }
}

/// The arguments of a trial, from the command line.
fn read_parameters(
    given: Option<&str>,
    pairs: &[String],
    schema: &Value,
) -> Result<Value, CliError> {
    let whole = given.map_or(Ok(Value::object::<&str>([])), input::read_input)?;
    input::merge_pairs(whole, pairs, Some(schema))
}
