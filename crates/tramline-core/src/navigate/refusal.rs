//! Why a move or a call is refused: data for front ends, and a sentence with its next step.

use super::Unmet;
use super::rules::RuleReport;
use crate::journal::{RuleChecked, Weighed};
use crate::sop::AnyOf;
use tramline_expr::{Str, Value};

/// So many names are listed in a sentence; front ends have them all.
const LISTED: usize = 20;
/// Longer reasons are cut in the journal, in characters: the list of all nodes belongs to the reply.
const BRIEF_CHARS_MAX: usize = 1_000;

/// Why something is not done.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// No node has this id.
    NoNode {
        /// What was asked for.
        asked: Str,
        /// What may have been meant.
        near: Option<Str>,
        /// All nodes.
        nodes: Vec<Str>,
    },
    /// No way leads there from here.
    NoWay {
        /// Where the conversation stands, if it has begun.
        from: Option<Str>,
        /// What was asked for.
        to: Str,
        /// Where edges lead.
        next: Vec<Str>,
        /// The path there, if there is one.
        path: Vec<Str>,
    },
    /// A hub is reached only after the demands of the nodes before it are met.
    Demands {
        /// The hub.
        to: Str,
        /// The nodes before it whose demands are not met.
        unmet: Vec<Unmet>,
        /// The path to the first of them.
        path: Vec<Str>,
    },
    /// The guards of the node say otherwise.
    Guarded {
        /// Where the conversation stands.
        from: Str,
        /// What was asked for.
        to: Str,
        /// What was weighed.
        weighed: Vec<Weighed>,
        /// Where the guards lead.
        open: Vec<Str>,
    },
    /// Something is to be collected first.
    Missing {
        /// Where the conversation stands.
        node: Str,
        /// The slots that are not set.
        slots: Vec<Str>,
        /// The tools that were not called.
        tools: Vec<AnyOf>,
    },
    /// The node was visited as often as it may be.
    TooOften {
        /// Which node.
        node: Str,
        /// How often.
        most: u32,
    },
    /// A procedure inside another is not done.
    Unfinished {
        /// Which one.
        procedure: Str,
    },
    /// Slots must be an object.
    NoSlots {
        /// What they are.
        kind: &'static str,
    },
    /// No node collects a slot of this name.
    NoSlot {
        /// What was given.
        name: Str,
        /// What may have been meant.
        near: Option<Str>,
    },
    /// A slot cannot have this value.
    BadSlot {
        /// Which one.
        name: Str,
        /// What it may be.
        wanted: Str,
        /// What was given.
        given: Value,
    },
    /// The tool is not allowed here.
    NoTool {
        /// Which tool.
        tool: Str,
        /// Where the conversation stands, if it has begun.
        at: Option<Str>,
        /// The tools that are allowed there.
        here: Vec<Str>,
        /// The nodes that allow it.
        nodes: Vec<Str>,
        /// The way to the nearest of them.
        path: Vec<Str>,
    },
    /// A rule over the call does not hold, or cannot be decided yet.
    Rules {
        /// Which tool.
        tool: Str,
        /// Where the conversation stands, if it has begun.
        at: Option<Str>,
        /// What was evaluated.
        report: RuleReport,
    },
    /// No person has agreed.
    Unconfirmed {
        /// Which tool.
        tool: Str,
        /// Where the conversation stands.
        at: Str,
    },
}

fn list(names: &[Str]) -> String {
    let shown: Vec<&str> = names.iter().take(LISTED).map(Str::as_str).collect();
    let more = names.len().saturating_sub(LISTED);
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn near(near: Option<&Str>) -> String {
    near.map_or(String::new(), |near| format!(" Did you mean {near}?"))
}

impl Refusal {
    /// The refusal as a sentence.
    pub fn says(&self) -> String {
        match self {
            Self::NoNode {
                asked,
                near: it,
                nodes,
            } => {
                format!(
                    "Node not found: {asked}.{} Valid nodes: {}",
                    near(it.as_ref()),
                    nodes.join(", ")
                )
            }
            Self::NoWay {
                from: None,
                to,
                next,
                ..
            } => {
                format!("Cannot begin at {to}. Begin at {}", list(next))
            }
            Self::NoWay {
                from: Some(from),
                to,
                ..
            } => format!("Cannot reach {to} from {from}"),
            Self::Guarded {
                from,
                to,
                weighed,
                open,
            } => guarded(from, to, weighed, open),
            Self::Missing { node, slots, tools } => {
                format!("{node} cannot be left yet; {}", wants(slots, tools))
            }
            Self::Demands { to, unmet, path } => demands(to, unmet, path),
            Self::TooOften { node, most } => format!(
                "{node} may be visited {most} times and was; take another way, or hand over to a person"
            ),
            Self::Unfinished { procedure } => {
                format!("{procedure} is not finished; go on to one of its ends first")
            }
            Self::NoSlots { kind } => {
                format!("`slots` is an object of names and values, not {kind}")
            }
            Self::NoSlot { name, near: it } => {
                format!("No node collects a slot {name}.{}", near(it.as_ref()))
            }
            Self::BadSlot {
                name,
                wanted,
                given,
            } => {
                let given: String = given.to_string().chars().take(80).collect();
                format!("The slot {name} must be {wanted}, not {given}")
            }
            Self::NoTool { .. } => self.no_tool(),
            Self::Rules { tool, at, report } => rules(tool, at.as_deref(), report),
            Self::Unconfirmed { tool, at } => {
                format!("{at} wants a person's agreement before {tool}, and nobody was asked")
            }
        }
    }

    /// The refusal as the journal keeps it.
    pub fn brief(&self) -> String {
        let mut says = self.says();
        if let Some((end, _)) = says.char_indices().nth(BRIEF_CHARS_MAX) {
            says.truncate(end);
            says.push('…');
        }
        says
    }

    fn no_tool(&self) -> String {
        let Self::NoTool {
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
            Some(at) => format!(
                "the conversation stands at {at}, which allows: {}",
                list(here)
            ),
            None => "the conversation has not begun".to_owned(),
        };
        let rest = match nodes.as_slice() {
            [] => "No node of the procedure allows it.".to_owned(),
            nodes => format!("It is allowed at: {}.{}", list(nodes), path_there(path)),
        };
        format!("{tool} is not allowed here: {stands}. {rest}")
    }
}

fn guarded(from: &str, to: &str, weighed: &[Weighed], open: &[Str]) -> String {
    let lacking = weighed.iter().filter(|it| it.holds.is_none());
    let lacking: Vec<&str> = lacking
        .flat_map(|it| it.operands.iter())
        .filter(|(_, value)| value.is_null())
        .map(|(what, _)| what.as_str())
        .collect();
    match (open, lacking.as_slice()) {
        ([], [_, ..]) => format!(
            "Cannot go from {from} to {to} yet: {} is not known; set it with `slots`, or call the tool that gives it",
            lacking.join(", ")
        ),
        ([], []) => format!("Cannot go from {from} to {to}: no guard of {from} holds"),
        (open, _) => format!(
            "Cannot go from {from} to {to}: the guards lead to {}",
            list(open)
        ),
    }
}

/// What a node waits for.
fn wants(slots: &[Str], tools: &[AnyOf]) -> String {
    let mut wants = Vec::new();
    if !slots.is_empty() {
        wants.push(format!("slots to be set: {}", list(slots)));
    }
    if !tools.is_empty() {
        let tools: Vec<Str> = tools.iter().map(|it| it.says().into()).collect();
        wants.push(format!("tools to be called: {}", list(&tools)));
    }
    match wants.is_empty() {
        true => "it has to be visited".to_owned(),
        false => wants.join("; "),
    }
}

fn demands(to: &str, unmet: &[Unmet], path: &[Str]) -> String {
    let each = unmet.iter().take(LISTED);
    let each: Vec<String> = each
        .map(|it| format!("{} ({})", it.node, wants(&it.slots, &it.tools)))
        .collect();
    format!(
        "{to} can be reached only after {}.{}",
        each.join(" and "),
        path_there(path)
    )
}

fn path_there(path: &[Str]) -> String {
    match path {
        [] => String::new(),
        path => format!(" Path there: {}", path.join(" -> ")),
    }
}

/// So many characters of an operand's value are shown in a sentence; front ends have it all.
const VALUE_CHARS: usize = 120;

fn rules(tool: &str, at: Option<&str>, report: &RuleReport) -> String {
    let at = at.map_or_else(String::new, |at| format!(" at {at}"));
    let broken = report.checked.iter().filter(|it| it.holds == Some(false));
    let broken: Vec<String> = broken.map(RuleChecked::says).collect();
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
            "{tool} is not allowed{at}: {}; also not known yet: {}",
            broken.join("; "),
            missing.join("; ")
        ),
    }
}

impl RuleChecked {
    /// The rule as a sentence: its author's words or its source, with the operands.
    pub fn says(&self) -> String {
        let source = match &self.source {
            Value::String(text) => text.to_string(),
            other => other.to_json(),
        };
        let what = match &self.message {
            Some(message) => message.to_string(),
            None if self.holds == Some(false) => {
                format!("the rule `{}: {source}` does not hold", self.rule)
            }
            None => format!("`{}: {source}`", self.rule),
        };
        let operands = self.operands.iter().map(|(name, value)| {
            let value: String = value.to_json().chars().take(VALUE_CHARS).collect();
            format!("{name} = {value}")
        });
        let operands: Vec<String> = operands.collect();
        match operands.is_empty() {
            true => what,
            false => format!("{what} ({})", operands.join(", ")),
        }
    }
}
