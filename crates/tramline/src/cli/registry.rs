//! `tramline registry`: everything that can be called, listed, searched, described and tried.

use super::output;
use super::trust::{self, Trusting};
use super::{Common, Done, Exit, Reach, Stopped, documents, input};
use crate::protect;
use crate::wire::{self, House, Origin};
use clap::Subcommand;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tramline_core::Value;
use tramline_engine::Fault;
use tramline_engine::registry::{List, Unknown};
use tramline_engine::seams::Tool;

mod trial;

/// List, search, describe and try everything that can be called.
#[derive(clap::Args)]
pub(super) struct Registry {
    #[command(subcommand)]
    verb: RegistryVerb,
}

/// What is listed beside the built-in tools and the saved workflows.
#[derive(clap::Args)]
struct Around {
    /// A document whose servers and workflows are listed too
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Subcommand)]
enum RegistryVerb {
    /// List everything that can be called; only servers that were never listed are started
    List(Around),
    /// Find what fits a wish, or a pattern such as github:*issue*
    Search {
        /// The wish or the pattern
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many
        #[arg(long, default_value_t = 10, value_name = "N")]
        most: usize,
        #[command(flatten)]
        around: Around,
    },
    /// Describe nodes in full
    Show {
        /// server:tool, mcp-server-tool, a built-in tool or a workflow's name
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        around: Around,
    },
    /// Ask every server anew what tools it has
    Refresh(Around),
    /// Run one node by itself, and show its output and every path in it
    Run {
        #[command(flatten)]
        trying: trial::Trying,
        #[command(flatten)]
        around: Around,
    },
}

pub(super) async fn main(common: Common, verb: Registry) -> Done {
    let around = match &verb.verb {
        RegistryVerb::List(around) | RegistryVerb::Refresh(around) => around,
        RegistryVerb::Search { around, .. }
        | RegistryVerb::Show { around, .. }
        | RegistryVerb::Run { around, .. } => around,
    };
    let mut config = common.config(&around.reach)?;
    let elsewhere = documents::elsewhere(&config)?;
    let read = |path: &PathBuf| documents::read_to_use(path, &elsewhere, common.json);
    let read = around.files.iter().map(read);
    let read = read.collect::<Result<Vec<_>, _>>()?;
    let named = around.files.iter().map(PathBuf::as_path).zip(&read);
    let documents = around.files.iter().map(|path| protect::document(path));
    config.protected.extend(documents);
    match &verb.verb {
        // A call of a tool is the user's word to start its server.
        RegistryVerb::Run { .. } => trust::by_word(&config, named, common.json)?,
        RegistryVerb::List(_)
        | RegistryVerb::Refresh(_)
        | RegistryVerb::Search { .. }
        | RegistryVerb::Show { .. } => {
            trust::look(&mut config, named, &around.files, around.trusting)?;
        }
    }
    let house = wire::open(&config, &read)?;
    let done = match &verb.verb {
        RegistryVerb::List(_) => list(&common, &house, false).await,
        RegistryVerb::Refresh(_) => list(&common, &house, true).await,
        RegistryVerb::Search { words, most, .. } => {
            search(&common, &house, &words.join(" "), *most).await
        }
        RegistryVerb::Show { names, .. } => show(&common, &house, names).await,
        RegistryVerb::Run { trying, .. } => {
            let origin = Origin::brought(&around.files, &config).to_value();
            trial::attempt(&common, &house, trying, origin).await
        }
    };
    house.close().await;
    done
}

async fn list(common: &Common, house: &House, anew: bool) -> Done {
    let registry = house.engine.registry();
    let list = match anew {
        true => registry.refresh().await,
        false => registry.list().await,
    };
    let list = list.map_err(Fault::from)?;
    if common.json {
        let nodes: Vec<_> = list.tools.iter().map(|tool| brief(tool)).collect();
        output::line(
            &json!({ "count": nodes.len(), "nodes": nodes, "unreachable": silent(&list) }),
        );
    } else {
        for tool in &list.tools {
            output::text_line(&as_text(tool));
        }
        complain(&list);
        output::say(&format!("{} nodes", list.tools.len()));
    }
    Ok(Exit::Done)
}

async fn search(common: &Common, house: &House, words: &str, most: usize) -> Done {
    let registry = house.engine.registry();
    if words.contains('*') {
        let (list, found) = registry.fitting(words, most).await.map_err(Fault::from)?;
        if common.json {
            let nodes: Vec<_> = found.tools.iter().map(|tool| brief(tool)).collect();
            output::line(&json!({ "nodes": nodes, "unreachable": silent(&list) }));
        } else {
            let lines = found.tools.iter().map(|tool| as_text(tool));
            lines.for_each(|line| output::text_line(&line));
            complain(&list);
        }
        return Ok(Exit::Done);
    }
    let (list, hits) = registry.search(words, most).await.map_err(Fault::from)?;
    if common.json {
        let told = |hit: &tramline_engine::registry::Hit| {
            let mut told = brief(&hit.tool);
            told["confidence"] = json!(hit.confidence);
            told["reasons"] = json!(hit.reasons);
            told
        };
        let nodes: Vec<_> = hits.iter().map(told).collect();
        output::line(&json!({ "nodes": nodes, "unreachable": silent(&list) }));
        return Ok(Exit::Done);
    }
    for hit in &hits {
        let sure = (hit.confidence * 100.0).round();
        output::text_line(&format!("{sure:>3} %  {}", as_text(&hit.tool)));
        output::text_line(&format!("       {}", hit.reasons.join("; ")));
    }
    complain(&list);
    if hits.is_empty() {
        output::say("nothing fits");
    }
    Ok(Exit::Done)
}

async fn show(common: &Common, house: &House, names: &[String]) -> Done {
    let mut shown = Vec::new();
    for name in names {
        let found = house.engine.registry().find(name).await;
        let tool = found.map_err(|unknown| Stopped::bad(meant(&unknown)))?;
        let mut told = brief(&tool);
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

/// What there is not, with what may have been meant.
fn meant(unknown: &Unknown) -> String {
    match unknown.near.as_slice() {
        [] => format!(
            "{}; `tramline registry list` shows what there is",
            unknown.message
        ),
        near => format!("{}; did you mean {}?", unknown.message, near.join(" or ")),
    }
}

fn brief(tool: &Tool) -> Json {
    let description = tool.description.as_deref().unwrap_or_default();
    let line = description.lines().next().unwrap_or_default();
    json!({ "node_type": tool.name.to_string(), "description": line })
}

fn as_text(tool: &Tool) -> String {
    /// A line of a list fits into a terminal.
    const LINE_CHARS_MAX: usize = 80;
    let description = tool.description.as_deref().unwrap_or_default();
    let line = description.lines().next().unwrap_or_default();
    let line: String = line.chars().take(LINE_CHARS_MAX).collect();
    format!("{:<40}  {line}", tool.name.to_string())
}

fn silent(list: &List) -> Vec<Json> {
    let told = list.silent.iter();
    told.map(|(server, failure)| json!({ "server": server, "message": failure.to_string() }))
        .collect()
}

fn complain(list: &List) {
    for (server, failure) in &list.silent {
        output::say(&format!(
            "`{server}` could not be asked for its tools: {failure}"
        ));
    }
}

/// The parameters of a trial, from the command line.
fn parameters(given: Option<&str>, pairs: &[String], schema: &Value) -> Result<Value, Stopped> {
    let whole = given.map_or(Ok(Value::object::<&str>([])), input::whole)?;
    input::pairs(whole, pairs, Some(schema))
}
