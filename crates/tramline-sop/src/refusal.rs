//! Why a move or a call is refused: data for front ends, and a sentence with the next step.

use super::UnmetDemand;
use super::rules::RuleReport;
use tramline_expr::{Str, Value};
use tramline_workflow::journal::{CheckedRule, GuardEvaluation};
use tramline_workflow::sop::AnyOf;

/// Names listed in a sentence, to keep it readable; front ends get all of them.
const NAMES_LISTED_MAX: usize = 20;
/// Characters of a refusal kept in the journal; the full list of nodes belongs in the reply.
const BRIEF_CHARS_MAX: usize = 1_000;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum SopRefusal {
    /// No node has this id.
    UnknownNode {
        /// The requested id.
        asked: Str,
        /// The closest known id.
        near: Option<Str>,
        /// All nodes.
        nodes: Vec<Str>,
    },
    /// No edge leads there from the current node.
    NoEdge {
        /// The current node, if the session has started.
        from: Option<Str>,
        /// The requested node.
        to: Str,
        /// The nodes that edges lead to.
        next: Vec<Str>,
        /// A path there, if there is one.
        path: Vec<Str>,
    },
    /// A hub may be entered only after the demands of the nodes before it are met.
    UnmetDemands {
        /// The hub.
        to: Str,
        /// The nodes before it with unmet demands.
        unmet: Vec<UnmetDemand>,
        /// The path to the first of them.
        path: Vec<Str>,
    },
    /// The guards of the node select another edge.
    GuardBlocked {
        /// The current node.
        from: Str,
        /// The requested node.
        to: Str,
        /// The evaluated guards.
        weighed: Vec<GuardEvaluation>,
        /// The nodes that the guards allow.
        open: Vec<Str>,
    },
    /// The node has unmet requirements.
    UnmetRequirements {
        /// The current node.
        node: Str,
        /// The slots that are not set.
        slots: Vec<Str>,
        /// The tools that were not called.
        tools: Vec<AnyOf>,
    },
    /// The node has reached its visit limit.
    VisitLimitReached {
        /// The node.
        node: Str,
        /// The visit limit.
        most: u32,
    },
    /// A nested procedure is not finished.
    NestedUnfinished {
        /// The nested procedure.
        procedure: Str,
    },
    /// `slots` must be an object.
    SlotsNotObject {
        /// The kind of value that was given.
        kind: &'static str,
    },
    /// No node collects a slot with this name.
    UnknownSlot {
        /// The given name.
        name: Str,
        /// The closest known name.
        near: Option<Str>,
    },
    /// The value is not valid for the slot.
    InvalidSlot {
        /// The slot.
        name: Str,
        /// The values it accepts.
        wanted: Str,
        /// The given value.
        given: Value,
    },
    /// The tool is not allowed at this node.
    ToolNotAllowed {
        /// The tool.
        tool: Str,
        /// The current node, if the session has started.
        at: Option<Str>,
        /// The tools that are allowed there.
        here: Vec<Str>,
        /// The nodes that allow it.
        nodes: Vec<Str>,
        /// The path to the nearest of them.
        path: Vec<Str>,
    },
    /// The call violates a rule, or a rule cannot be decided yet.
    RulesViolated {
        /// The tool.
        tool: Str,
        /// The current node, if the session has started.
        at: Option<Str>,
        /// The evaluated rules.
        report: RuleReport,
    },
    /// A required approval is missing.
    ApprovalMissing {
        /// The tool.
        tool: Str,
        /// The current node.
        at: Str,
    },
}

fn name_list(names: &[Str]) -> String {
    let shown: Vec<&str> = names
        .iter()
        .take(NAMES_LISTED_MAX)
        .map(Str::as_str)
        .collect();
    let more = names.len().saturating_sub(NAMES_LISTED_MAX);
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn did_you_mean(near: Option<&Str>) -> String {
    near.map_or(String::new(), |near| format!(" Did you mean {near}?"))
}

impl SopRefusal {
    /// The refusal as a sentence.
    pub fn message(&self) -> String {
        match self {
            Self::UnknownNode {
                asked,
                near: it,
                nodes,
            } => {
                format!(
                    "Node not found: {asked}.{} Valid nodes: {}",
                    did_you_mean(it.as_ref()),
                    nodes.join(", ")
                )
            }
            Self::NoEdge {
                from: None,
                to,
                next,
                ..
            } => {
                format!("Cannot begin at {to}. Begin at {}", name_list(next))
            }
            Self::NoEdge {
                from: Some(from),
                to,
                ..
            } => format!("Cannot reach {to} from {from}"),
            Self::GuardBlocked {
                from,
                to,
                weighed,
                open,
            } => guard_message(from, to, weighed, open),
            Self::UnmetRequirements { node, slots, tools } => {
                format!(
                    "{node} cannot be left yet; {}",
                    requirements_text(slots, tools)
                )
            }
            Self::UnmetDemands { to, unmet, path } => demands_message(to, unmet, path),
            Self::VisitLimitReached { node, most } => format!(
                "{node} has reached its limit of {most} visits; take another path, or hand over to a person"
            ),
            Self::NestedUnfinished { procedure } => {
                format!("{procedure} is not finished; continue to one of its ends first")
            }
            Self::SlotsNotObject { kind } => {
                format!("`slots` is an object of names and values, not {kind}")
            }
            Self::UnknownSlot { name, near: it } => {
                format!(
                    "No node collects a slot {name}.{}",
                    did_you_mean(it.as_ref())
                )
            }
            Self::InvalidSlot {
                name,
                wanted,
                given,
            } => {
                let given: String = given.to_string().chars().take(80).collect();
                format!("The slot {name} must be {wanted}, not {given}")
            }
            Self::ToolNotAllowed { .. } => self.tool_message(),
            Self::RulesViolated { tool, at, report } => rules_message(tool, at.as_deref(), report),
            Self::ApprovalMissing { tool, at } => {
                format!("{at} requires a person's approval before {tool}, and it was not requested")
            }
        }
    }

    /// The refusal as recorded in the journal.
    pub fn journal_message(&self) -> String {
        let mut says = self.message();
        if let Some((end, _)) = says.char_indices().nth(BRIEF_CHARS_MAX) {
            says.truncate(end);
            says.push('…');
        }
        says
    }

    fn tool_message(&self) -> String {
        let Self::ToolNotAllowed {
            tool,
            at,
            here,
            nodes,
            path,
        } = self
        else {
            return String::new();
        };
        let stands = match at {
            Some(at) => format!("the session is at {at}, which allows: {}", name_list(here)),
            None => "the session has not started".to_owned(),
        };
        let rest = match nodes.as_slice() {
            [] => "No node of the procedure allows it.".to_owned(),
            nodes => format!("It is allowed at: {}.{}", name_list(nodes), path_text(path)),
        };
        format!("{tool} is not allowed here: {stands}. {rest}")
    }
}

fn guard_message(from: &str, to: &str, weighed: &[GuardEvaluation], open: &[Str]) -> String {
    let lacking = weighed.iter().filter(|it| it.holds.is_none());
    let lacking: Vec<&str> = lacking
        .flat_map(|it| it.operands.iter())
        .filter(|(_, value)| value.is_null())
        .map(|(what, _)| what.as_str())
        .collect();
    match (open, lacking.as_slice()) {
        ([], [_, ..]) => format!(
            "Cannot go from {from} to {to} yet: {} is not known; set it with `slots`, or call the tool that returns it",
            lacking.join(", ")
        ),
        ([], []) => format!("Cannot go from {from} to {to}: no guard of {from} holds"),
        (open, _) => format!(
            "Cannot go from {from} to {to}: the guards lead to {}",
            name_list(open)
        ),
    }
}

/// The unmet requirements of a node.
fn requirements_text(slots: &[Str], tools: &[AnyOf]) -> String {
    let mut wants = Vec::new();
    if !slots.is_empty() {
        wants.push(format!("slots to set: {}", name_list(slots)));
    }
    if !tools.is_empty() {
        let tools: Vec<Str> = tools.iter().map(|it| it.describe().into()).collect();
        wants.push(format!("tools to call: {}", name_list(&tools)));
    }
    match wants.is_empty() {
        true => "it must be visited".to_owned(),
        false => wants.join("; "),
    }
}

fn demands_message(to: &str, unmet: &[UnmetDemand], path: &[Str]) -> String {
    let each = unmet.iter().take(NAMES_LISTED_MAX);
    let each: Vec<String> = each
        .map(|it| format!("{} ({})", it.node, requirements_text(&it.slots, &it.tools)))
        .collect();
    format!(
        "{to} can be reached only after {}.{}",
        each.join(" and "),
        path_text(path)
    )
}

fn path_text(path: &[Str]) -> String {
    match path {
        [] => String::new(),
        path => format!(" Path there: {}", path.join(" -> ")),
    }
}

fn rules_message(tool: &str, at: Option<&str>, report: &RuleReport) -> String {
    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
    let broken = report.checked.iter().filter(|it| it.holds == Some(false));
    let broken: Vec<String> = broken.map(CheckedRule::describe).collect();
    let mut missing: Vec<&str> = Vec::new();
    for says in report.checked.iter().flat_map(|it| &it.missing) {
        if !missing.contains(&says.as_str()) {
            missing.push(says);
        }
    }
    match (broken.is_empty(), missing.is_empty()) {
        (true, _) => format!(
            "{tool} is not allowed{at} yet: first {}; then repeat the call",
            missing.join("; ")
        ),
        (false, true) => format!("{tool} is not allowed{at}: {}", broken.join("; ")),
        (false, false) => format!(
            "{tool} is not allowed{at}: {}; also still missing: {}",
            broken.join("; "),
            missing.join("; ")
        ),
    }
}
