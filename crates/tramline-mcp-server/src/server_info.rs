//! Server info and instructions for clients.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use crate::channel;
use crate::skills;
use rmcp::model::{Icon, Implementation, JsonObject, ServerCapabilities, ServerConfig};
use tramline_expr::Str;
use tramline_formats::yaml_graph::content::DeclaredContent;

/// Default instructions for agents, used if the documents have none.
const INSTRUCTIONS: &str = "Each tool runs a whole workflow and returns its result. A run that \
                            waits for a person says so and names the checkpoint to answer.";

/// Our icon: rails, in a size that fits into a handshake.
const ICON: &str = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAxNiAxNiI+PHBhdGggZD0iTTUgMXYxNE0xMSAxdjE0TTIgNGgxMk0yIDhoMTJNMiAxMmgxMiIgc3Ryb2tlPSIjMmE3IiBzdHJva2Utd2lkdGg9IjEuNSIvPjwvc3ZnPg==";

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
    /// The resources and prompts of each document.
    pub content: Vec<DeclaredContent>,
}

/// What the enabled toolsets add to the server info.
#[derive(Default)]
pub(super) struct ToolsetInfo {
    /// How to work with a toolset; replaces the default instructions.
    pub(super) guide: Option<String>,
    /// Added at the end of the instructions.
    pub(super) notes: Vec<&'static str>,
    /// Whether the ends of runs are sent to a channel of the client.
    pub(super) has_channel: bool,
}

impl ServerDescription {
    /// The info sent to a client, with our capabilities and instructions.
    pub(super) fn to_info(&self, toolsets: ToolsetInfo, prefix: Option<String>) -> ServerConfig {
        let mut server = Implementation::new(self.name.as_str(), self.version.as_str());
        server = server.with_icons(vec![Icon::new(ICON).with_mime_type("image/svg+xml")]);
        if let Some(title) = &self.title {
            server = server.with_title(title.as_str());
        }
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe();
        let mut capabilities = capabilities.build();
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.insert(skills::EXTENSION.to_owned(), JsonObject::new());
        if toolsets.has_channel {
            let experimental = capabilities.experimental.get_or_insert_default();
            experimental.insert(channel::CAPABILITY.to_owned(), JsonObject::new());
        }
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
