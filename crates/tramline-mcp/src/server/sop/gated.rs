//! Downstream tools under names of ours: each is called through the gate of its procedure.

use super::call;
use super::pinned::PinnedProcedure;
use crate::server::Shared;
use crate::server::toolset::{Means, annotations, read};
use rmcp::model::{CallToolResponse, JsonObject, Tool};
use std::sync::Arc;
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};
use tramline_engine::seams;

/// Tool names longer than this are not taken by every client.
const NAME_CHARS_MAX: usize = 64;

/// A downstream tool that is offered through the gate.
#[derive(Clone)]
pub(in super::super) struct Gated {
    /// Its name here.
    pub(in super::super) name: Str,
    tool: Arc<seams::Tool>,
}

impl Gated {
    /// The tool as `tools/list` shows it: its own schema, with what is ours added.
    pub(in super::super) fn describe(&self) -> Tool {
        let schema: serde_json::Value = (&self.tool.input_schema).into();
        let mut input = match schema {
            serde_json::Value::Object(map) => map,
            _ => JsonObject::new(),
        };
        input.entry("type").or_insert_with(|| "object".into());
        let properties = input
            .entry("properties")
            .or_insert_with(|| serde_json::json!({}));
        if let Some(properties) = properties.as_object_mut() {
            let text = |says: &str| serde_json::json!({ "type": "string", "description": says });
            let [session, confirm] = self.ours();
            properties.insert(session.into(), text("As load_graph returned it"));
            properties.insert(
                confirm.into(),
                text("How the user agreed, for the person who is asked"),
            );
        }
        let says = self.tool.description.as_deref().unwrap_or_default();
        let says = format!("{says} (Only at nodes of the procedure that allow it.)");
        Tool::new(self.name.to_string(), says.trim_start().to_owned(), input)
            .with_annotations(annotations(self.tool.hints))
    }

    fn is(&self, tool: &seams::Tool) -> bool {
        self.tool.name == tool.name
    }

    /// What our own arguments are called: another name where the tool has one of that name itself.
    fn ours(&self) -> [&'static str; 2] {
        let own = self.tool.input_schema.get("properties");
        let has = |key: &str| own.is_some_and(|it| it.get(key).is_some());
        let [session, confirm] = call::PLAIN;
        let [session_too, confirm_too] = call::OURS;
        [
            if has(session) { session_too } else { session },
            if has(confirm) { confirm_too } else { confirm },
        ]
    }

    /// Calls it from where the conversation stands.
    pub(in super::super) async fn call(
        &self,
        means: Means,
        arguments: Option<JsonObject>,
    ) -> CallToolResponse {
        let tool = self.tool.name.to_string().into();
        let arguments: Value = read(arguments);
        call::gated(means, &self.name, tool, &self.ours(), arguments).await
    }
}

impl Shared {
    /// Offers the tools that pinned procedures name through the gate. Gives what is to be told: tools
    /// that no server has, or several.
    pub(super) async fn offer_tools(&self, procedures: &[PinnedProcedure]) -> Vec<String> {
        let mut told = Vec::new();
        let mut wanted: Vec<(Str, &[Str])> = Vec::new();
        let servers: Vec<Vec<Str>> = procedures
            .iter()
            .map(|it| it.sops[0].server_names())
            .collect();
        for (procedure, servers) in procedures.iter().zip(&servers) {
            let gated = procedure.sops.iter().filter(|sop| sop.gated);
            let named = gated.flat_map(|sop| sop.named_tools());
            wanted.extend(named.map(|name| (name, servers.as_slice())));
        }
        wanted.sort();
        wanted.dedup();
        let listings = match wanted.is_empty() {
            true => Vec::new(),
            false => self.engine.tools().list().await,
        };
        let all = listings
            .iter()
            .filter_map(|listing| listing.tools.as_ref().ok());
        let all: Vec<&Arc<seams::Tool>> = all.flatten().collect();
        let mut gated: Vec<Gated> = Vec::new();
        for (name, servers) in wanted {
            let fits = |tool: &ToolName| tool.tool == name || tool.to_string() == name;
            let mut found: Vec<_> = all.iter().filter(|tool| fits(&tool.name)).collect();
            // Of several, the one of the first server that the file lists.
            let of = |server: &Str| found.iter().find(|tool| tool.name.server == *server);
            if let Some(meant) = servers.iter().find_map(of).copied() {
                found = vec![meant];
            }
            match found.as_slice() {
                [tool] if gated.iter().any(|it| it.is(tool)) => {}
                [tool] => gated.push(self.exposed(tool, &gated)),
                [] => told.push(format!("no server has the tool `{name}`")),
                _ => told.push(format!(
                    "several servers have the tool `{name}`: name one as server:{name}"
                )),
            }
        }
        self.seats.gate(gated);
        told
    }

    /// A tool under its own name, or with its server's where that is taken.
    fn exposed(&self, tool: &Arc<seams::Tool>, others: &[Gated]) -> Gated {
        let short = &tool.name.tool;
        let is_taken =
            self.offer().find(short).is_ok() || others.iter().any(|it| it.name == *short);
        let name: Str = match is_taken {
            true => format!("{}_{short}", tool.name.server).into(),
            false => short.clone(),
        };
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "_-.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let name: String = name.chars().map(plain).take(NAME_CHARS_MAX).collect();
        Gated {
            name: name.into(),
            tool: Arc::clone(tool),
        }
    }
}
