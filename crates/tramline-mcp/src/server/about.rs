//! What a server says of itself.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use tramline_core::Str;

/// For agents, where the documents give them nothing to read.
const INSTRUCTIONS: &str = "Each tool runs a whole workflow and gives its result; a run that \
                            waits for a person says so and names the checkpoint to answer.";

/// For agents that may give intents in words.
const PLANS: &str = "An intent in words (execute_dag, replan, run_loop) acts only where a model plans it or \
                     it surely just reads. Otherwise the reply has plan_request: tools with schemas, what is \
                     open and an example. Make the plan and give it to submit_plan with the handle.";

/// What a server says of itself.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its name.
    pub name: Str,
    /// Its version.
    pub version: Str,
    /// A title for people.
    pub title: Option<Str>,
    /// How to use it, for agents.
    pub instructions: Option<Str>,
}

impl About {
    /// The same for a client that connects, with what we can do; with how procedures are followed, where
    /// there are any.
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
            true => format!("{instructions}\n\n{PLANS}"),
            false => instructions,
        };
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(instructions)
    }
}
