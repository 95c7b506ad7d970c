//! Server info and instructions for clients.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use tramline_expr::Str;

/// Default instructions for agents, used if the documents have none.
const INSTRUCTIONS: &str = "Each tool runs a whole workflow and returns its result. A run that \
                            waits for a person says so and names the checkpoint to answer.";

/// Server info and instructions.
#[derive(Clone, Debug, Default)]
pub struct ServerDescription {
    /// Its name.
    pub name: Str,
    /// Its version.
    pub version: Str,
    /// Display title.
    pub title: Option<Str>,
    /// Instructions for agents.
    pub instructions: Option<Str>,
}

/// What the enabled toolsets add to the server info.
#[derive(Default)]
pub(super) struct ToolsetInfo {
    /// How to work with a toolset; replaces the default instructions.
    pub(super) guide: Option<String>,
    /// Added at the end of the instructions.
    pub(super) notes: Vec<&'static str>,
    /// Whether there are prompts and resources.
    pub(super) has_prompts: bool,
}

impl ServerDescription {
    /// The info sent to a client, with our capabilities and instructions.
    pub(super) fn to_info(&self, toolsets: ToolsetInfo, prefix: Option<String>) -> ServerConfig {
        let mut server = Implementation::new(self.name.as_str(), self.version.as_str());
        if let Some(title) = &self.title {
            server = server.with_title(title.as_str());
        }
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks();
        let capabilities = match toolsets.has_prompts {
            true => capabilities.enable_prompts().enable_resources().build(),
            false => capabilities.build(),
        };
        let own = self.instructions.as_deref();
        let own = own.filter(|text| !text.trim().is_empty());
        let parts = match (own, toolsets.guide.as_deref()) {
            (None, None) => [Some(INSTRUCTIONS), None],
            (own, guide) => [own, guide],
        };
        let further = toolsets.notes.into_iter().chain(prefix.as_deref());
        let parts: Vec<&str> = parts.into_iter().flatten().chain(further).collect();
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(parts.join("\n\n"))
    }
}
