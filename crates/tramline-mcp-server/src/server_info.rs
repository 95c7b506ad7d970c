//! Server info and instructions for clients.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use tramline_core::Str;

/// Default instructions for agents, used if the documents have none.
const INSTRUCTIONS: &str = "Each tool runs a whole workflow and returns its result. A run that \
                            waits for a person says so and names the checkpoint to answer.";

/// Instructions for servers that accept intents in words.
const PLAN_INSTRUCTIONS: &str = "An intent in words (execute_dag, replan, run_loop) runs only if a model plans it or it \
                     certainly only reads. Otherwise the reply has plan_request: tools with schemas, open \
                     points and an example. Write the plan and pass it to submit_plan with the handle.";

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

impl ServerDescription {
    /// The info sent to a client, with our capabilities and, if given, the instructions for procedures.
    pub(super) fn to_info(&self, sops: Option<String>, takes_intents: bool) -> ServerConfig {
        let mut server = Implementation::new(self.name.as_str(), self.version.as_str());
        if let Some(title) = &self.title {
            server = server.with_title(title.as_str());
        }
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks();
        let capabilities = match sops.is_some() {
            true => capabilities.enable_prompts().enable_resources().build(),
            false => capabilities.build(),
        };
        let instructions = self.instructions.as_deref();
        let instructions = instructions.filter(|text| !text.trim().is_empty());
        let instructions = match (instructions, sops) {
            (Some(own), Some(sops)) => format!("{own}\n\n{sops}"),
            (None, Some(sops)) => sops,
            (own, None) => own.unwrap_or(INSTRUCTIONS).to_owned(),
        };
        let instructions = match takes_intents {
            true => format!("{instructions}\n\n{PLAN_INSTRUCTIONS}"),
            false => instructions,
        };
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(instructions)
    }
}
