//! Downstream tools that are served under their own names and called through the procedure's gate.

use super::call;
use super::pinned::PinnedProcedure;
use crate::SharedState;
use crate::tool::{CallContext, annotations, to_value};
use rmcp::model::{CallToolResponse, JsonObject, Tool};
use std::sync::Arc;
use tramline_engine::ports;
use tramline_expr::{Str, Value};
use tramline_workflow::ids::ToolName;

/// Maximum length of a tool name, in characters: some clients reject longer ones.
const NAME_CHARS_MAX: usize = 64;

/// A downstream tool that is served through the gate.
#[derive(Clone)]
pub(crate) struct GatedTool {
    /// The name it is served under.
    pub(crate) name: Str,
    tool: Arc<ports::Tool>,
}

impl GatedTool {
    /// The tool as `tools/list` shows it: its own schema plus our arguments.
    pub(crate) fn describe(&self) -> Tool {
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
            let [session, confirm] = self.argument_names();
            properties.insert(session.into(), text("From load_graph"));
            properties.insert(
                confirm.into(),
                text("How the user agreed; shown to the approver"),
            );
        }
        let says = self.tool.description.as_deref().unwrap_or_default();
        let says = format!("{says} (Only at procedure nodes that allow it.)");
        Tool::new(self.name.to_string(), says.trim_start().to_owned(), input)
            .with_annotations(annotations(self.tool.hints))
    }

    fn is_same_tool(&self, tool: &ports::Tool) -> bool {
        self.tool.name == tool.name
    }

    /// The names of our arguments: alternative ones if the tool has arguments with the same names.
    fn argument_names(&self) -> [&'static str; 2] {
        let own = self.tool.input_schema.get("properties");
        let has = |key: &str| own.is_some_and(|it| it.get(key).is_some());
        let [session, confirm] = call::OWN_ARGUMENTS;
        let [session_too, confirm_too] = call::PREFIXED_ARGUMENTS;
        [
            if has(session) { session_too } else { session },
            if has(confirm) { confirm_too } else { confirm },
        ]
    }

    /// Calls it from the session's current node.
    pub(crate) async fn call(
        &self,
        means: CallContext,
        arguments: Option<JsonObject>,
    ) -> CallToolResponse {
        let tool = self.tool.name.to_string().into();
        let arguments: Value = to_value(arguments);
        call::call_gated_tool(means, &self.name, tool, &self.argument_names(), arguments).await
    }
}

impl SharedState {
    /// Serves the tools that pinned procedures name through the gate. Returns warnings: tools that no server or
    /// several servers have.
    pub(super) async fn serve_gated_tools(&self, procedures: &[PinnedProcedure]) -> Vec<String> {
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
        let all: Vec<&Arc<ports::Tool>> = all.flatten().collect();
        let mut gated: Vec<GatedTool> = Vec::new();
        for (name, servers) in wanted {
            let fits = |tool: &ToolName| tool.tool == name || tool.to_string() == name;
            let mut found: Vec<_> = all.iter().filter(|tool| fits(&tool.name)).collect();
            if !servers.is_empty() && !name.contains(':') {
                // The first server that the file lists and that has it; no other server is meant.
                let of = |server: &Str| found.iter().find(|tool| tool.name.server == *server);
                found = servers.iter().find_map(of).copied().into_iter().collect();
            }
            match found.as_slice() {
                [tool] if gated.iter().any(|it| it.is_same_tool(tool)) => {}
                [tool] => gated.push(self.gated_under_free_name(tool, &gated)),
                [] if servers.is_empty() => told.push(format!("no server has the tool `{name}`")),
                [] => told.push(format!(
                    "no server under mcp_servers ({}) has the tool `{name}`",
                    servers.join(", ")
                )),
                _ => told.push(format!(
                    "several servers have the tool `{name}`: name one as server:{name}"
                )),
            }
        }
        self.toolset_state.sop.set_gated_tools(gated);
        told
    }

    /// A tool under its own name, or prefixed with its server if that name is taken.
    fn gated_under_free_name(&self, tool: &Arc<ports::Tool>, others: &[GatedTool]) -> GatedTool {
        let short = &tool.name.tool;
        let is_taken =
            self.catalog().find(short).is_ok() || others.iter().any(|it| it.name == *short);
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
        GatedTool {
            name: name.into(),
            tool: Arc::clone(tool),
        }
    }
}
