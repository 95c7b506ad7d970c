//! Tools that a pinned procedure which rejects calls names: a procedure that only warns does not open them.

use super::super::Engine;
use tramline_expr::Str;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::SopStarted;
use tramline_workflow::sop::SopMode;

/// The tools that a pinned procedure names, if it rejects calls.
#[derive(Clone, Debug)]
pub struct ReservedTools {
    /// The procedure, by name.
    pub procedure: Str,
    /// The servers that names without a server refer to; empty if the file lists none.
    pub servers: Vec<Str>,
    /// The tools, with or without their servers.
    pub tools: Vec<Str>,
    /// Those of them that can be called at some node.
    pub callable: Vec<Str>,
}

impl ReservedTools {
    fn contains(&self, tool: &ToolName) -> bool {
        self.is_in(&self.tools, tool)
    }

    fn is_callable(&self, tool: &ToolName) -> bool {
        self.is_in(&self.callable, tool)
    }

    fn is_in(&self, names: &[Str], tool: &ToolName) -> bool {
        let by_short_name = self.servers.is_empty() || self.servers.contains(&tool.server);
        let mut names = names.iter();
        names.any(|name| *name == tool.to_string() || (by_short_name && *name == tool.tool))
    }
}

impl Engine {
    /// Why no plan may use a tool: every pinned procedure rejects calls, and no node of any of them allows this one.
    pub(in super::super) fn never_callable(&self, tool: &ToolName) -> Option<String> {
        let pins = self.pins()?;
        let all_reject = pins.reserved.len() == pins.procedures.len();
        if !all_reject || self.is_exempt_tool(tool) {
            return None;
        }
        let is_closed = !pins.reserved.iter().any(|it| it.is_callable(tool));
        is_closed.then(|| "no node of a pinned procedure allows it".to_owned())
    }

    /// Why a session may not call a tool although its own procedure rejects nothing: another pinned
    /// procedure, which does, names the tool.
    pub(in super::super) fn reserved_tool_denial(
        &self,
        begun: &SopStarted,
        tool: &ToolName,
    ) -> Option<String> {
        let pins = self.pins()?;
        let main = begun.sops.first()?;
        if (main.gated && main.call_mode() == SopMode::Strict) || self.is_exempt_tool(tool) {
            return None;
        }
        let is_other = |it: &&super::ReservedTools| begun.pinned.as_ref() != Some(&it.procedure);
        let mut reserved = pins.reserved.iter().filter(is_other);
        let reserved = reserved.find(|it| it.contains(tool))?;
        Some(format!(
            "{tool} may only be called in a session of {}, which names it: start one with load_graph, and go to a node \
             that allows the tool",
            reserved.procedure
        ))
    }
}
