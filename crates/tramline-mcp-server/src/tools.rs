//! Toolsets: groups of tools that an operator enables as a whole, one folder for each.
//!
//! A toolset is a list of [`ToolDef`]s, with a function for each that reads its arguments, makes one engine call
//! and replies. To add one, add its folder, a variant here and the variant's list in [`Toolset::tools`].

use crate::SharedState;
use crate::options::ServerOptions;
use crate::server_info::ToolsetInfo;
use crate::tool::ToolDef;
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, ReadResourceResult, Resource, Tool};
use std::str::FromStr;
use tramline_engine::Engine;
use tramline_views::skill::Skill;
use tramline_workflow::text::nearest;

mod control;
mod debugging;
pub(crate) mod graphs;
mod library;
mod planner_loop;
mod runs;
pub(crate) use debugging::{current_state, visible_runs};
pub(crate) use runs::running_reply;
pub(crate) mod sop;
mod submit_plan;

/// The session that a call belongs to: every tool may be called in one.
pub(crate) mod session {
    pub(crate) use super::sop::{
        names_session as is_named, session_fault_reply as fault_reply,
        session_of_request as of_request,
    };
    pub(crate) use tramline_engine::in_sop_session as run_in;
}

/// A group of tools that is enabled as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolset {
    /// Every graph of the documents as a tool.
    Graphs,
    /// DAGs of tasks that an agent runs layer by layer.
    Control,
    /// Saved workflows and the node registry.
    Library,
    /// Inspecting and controlling runs.
    Debug,
    /// The planner loop: plans and runs tool calls for a message.
    Loop,
    /// Procedures that an agent follows.
    Sop,
    /// Starting runs that outlast a call, and waiting for them.
    Runs,
}

/// State of the toolsets outside journals: nothing that cannot be recreated.
pub(crate) struct ToolsetState {
    control: control::ControlState,
    sop: sop::SopState,
}

impl ToolsetState {
    pub(crate) fn new(engine: &Engine, options: &ServerOptions) -> Self {
        Self {
            control: control::ControlState::new(options.commands_per_minute, engine.clone()),
            sop: sop::SopState::default(),
        }
    }

    /// A tool as it is listed now: some definitions depend on the state.
    pub(crate) fn describe(&self, tool: Tool) -> Tool {
        sop::describe_load_graph(tool, self.sop.pinned())
    }

    /// Downstream tools that a toolset serves under their own names.
    pub(crate) fn extra_tools(&self) -> impl Iterator<Item = Tool> {
        self.sop
            .gated_tools()
            .into_iter()
            .map(|gated| gated.describe())
    }

    /// The downstream tool that is served under this name.
    pub(crate) fn extra_tool(&self, name: &str) -> Option<sop::GatedTool> {
        let mut gated = self.sop.gated_tools().into_iter();
        gated.find(|gated| gated.name == name)
    }
}

impl SharedState {
    pub(crate) fn has(&self, toolset: Toolset) -> bool {
        self.toolsets.contains(&toolset)
    }

    /// What the enabled toolsets add to the server info.
    pub(crate) fn toolset_info(&self) -> ToolsetInfo {
        let sop = self.has(Toolset::Sop);
        let takes_intents = self.has(Toolset::Control) || self.has(Toolset::Loop);
        ToolsetInfo {
            guide: sop.then(|| sop::instructions(self.toolset_state.sop.pinned())),
            notes: [
                takes_intents.then_some(submit_plan::INSTRUCTIONS),
                self.has(Toolset::Runs).then_some(runs::INSTRUCTIONS),
            ]
            .into_iter()
            .flatten()
            .collect(),
            has_channel: self.options.claude_channel,
        }
    }

    /// The prompts of the enabled toolsets.
    pub(crate) fn toolset_prompts(&self) -> Vec<Prompt> {
        self.of_sop(sop::prompts)
    }

    /// One prompt of an enabled toolset.
    pub(crate) fn toolset_prompt(&self, name: &str) -> Result<GetPromptResult, ErrorData> {
        let found = self.has(Toolset::Sop).then(|| sop::get_prompt(self, name));
        found.unwrap_or_else(|| {
            let shown = tramline_workflow::text::display_name(name);
            Err(ErrorData::invalid_params(
                format!("there is no prompt `{shown}`"),
                None,
            ))
        })
    }

    /// The resources of the enabled toolsets.
    pub(crate) fn toolset_resources(&self) -> Vec<Resource> {
        self.of_sop(sop::resources)
    }

    /// One resource of an enabled toolset.
    pub(crate) fn read_toolset_resource(&self, uri: &str) -> Option<ReadResourceResult> {
        self.has(Toolset::Sop)
            .then(|| sop::read_resource(self, uri))?
    }

    /// The procedures of this server as skills.
    pub(crate) fn procedure_skills(&self) -> Vec<Skill> {
        self.of_sop(sop::skills)
    }

    /// The names of the procedures of this server.
    pub(crate) fn procedure_names(&self) -> Vec<String> {
        self.of_sop(sop::procedure_names)
    }

    fn of_sop<T>(&self, list: fn(&Self) -> Vec<T>) -> Vec<T> {
        match self.has(Toolset::Sop) {
            true => list(self),
            false => Vec::new(),
        }
    }
}

/// The arguments of a tool that are never written to the audit log.
pub(crate) fn secret_arguments(tool: &str) -> &'static [&'static str] {
    let mut all = Toolset::ALL.into_iter().flat_map(Toolset::tools);
    let found = all.find(|own| own.name == tool);
    found.map_or(&[], |own| own.rules.secret_arguments)
}

/// An unknown toolset name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolset `{given}`; {hint}")]
pub struct UnknownToolset {
    given: String,
    hint: String,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: [Self; 7] = [
        Self::Graphs,
        Self::Control,
        Self::Library,
        Self::Debug,
        Self::Loop,
        Self::Sop,
        Self::Runs,
    ];

    /// The name of the toolset.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Graphs => "graphs",
            Self::Control => "control",
            Self::Library => "library",
            Self::Debug => "debug",
            Self::Loop => "loop",
            Self::Sop => "sop",
            Self::Runs => "runs",
        }
    }

    /// Its built-in tools; graph tools come from documents.
    pub(crate) fn tools(self) -> &'static [ToolDef] {
        match self {
            Self::Graphs => &[],
            Self::Control => control::TOOLS,
            Self::Library => library::TOOLS,
            Self::Debug => debugging::TOOLS,
            Self::Loop => planner_loop::TOOLS,
            Self::Sop => sop::TOOLS,
            Self::Runs => runs::TOOLS,
        }
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        let found = Self::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str);
            let hint = match nearest(text, names.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known toolsets: {}", names.join(", ")),
            };
            let given = tramline_workflow::text::display_name(text);
            UnknownToolset { given, hint }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_toolsets_name_is_understood() {
        assert_eq!("debug".parse(), Ok(Toolset::Debug));
        let slip = "graph".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(slip, "unknown toolset `graph`; did you mean `graphs`?");
        let stranger = "zzz".parse::<Toolset>().unwrap_err().to_string();
        assert_eq!(
            stranger,
            "unknown toolset `zzz`; known toolsets: graphs, control, library, debug, loop, sop, runs"
        );
    }
}
