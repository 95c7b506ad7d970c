//! The gate before tools: a call passes where the node, or the whole procedure, allows it.

use super::{Refusal, Turn, Walk};
use crate::ids::ToolName;
use crate::journal::{Asked, Event, Refused, ToolCalled};
use crate::sop::Mode;
use tramline_expr::{Str, Value};

/// A call that somebody wants to make.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Which tool.
    pub tool: ToolName,
    /// With what.
    pub arguments: Value,
    /// How the user agreed, if that was asked.
    pub confirmed: Option<Str>,
}

/// Whether a call may be made: the event that announces it, or the refusal.
pub fn call(walk: &Walk, pass: Pass) -> Turn {
    let against = check(walk, &pass);
    let mode = walk.sop().mode;
    if let Some(refusal) = against.clone()
        && mode == Mode::Strict
    {
        let event = Event::Refused(Box::new(Refused {
            what: Asked::Call,
            target: pass.tool.to_string().into(),
            why: refusal.says().into(),
        }));
        return Turn {
            events: vec![event],
            refusal: Some(refusal),
            warning: None,
        };
    }
    let says: Option<Str> = against.map(|it| it.says().into());
    let warning = says.clone().filter(|_| mode == Mode::Warn);
    let event = Event::ToolCalled(Box::new(ToolCalled {
        call: walk.calls + 1,
        tool: pass.tool,
        arguments: pass.arguments,
        confirmed: pass.confirmed,
        against: says,
    }));
    Turn {
        events: vec![event],
        refusal: None,
        warning,
    }
}

/// Whether a list has a tool, by its whole name or without its server.
pub(super) fn has(list: &[Str], tool: &ToolName) -> bool {
    list.iter()
        .any(|it| *it == tool.tool || *it == tool.to_string())
}

fn check(walk: &Walk, pass: &Pass) -> Option<Refusal> {
    let sop = walk.sop();
    let here = walk.here();
    let anywhere = has(&sop.anywhere, &pass.tool) || has(&here.sop.anywhere, &pass.tool);
    if !sop.gated || anywhere {
        return None;
    }
    let at = walk.frame().at;
    let node = at.map(|at| here.node(at));
    if let Some(node) = node.filter(|node| has(&node.tools, &pass.tool)) {
        let agreed = pass
            .confirmed
            .as_ref()
            .is_some_and(|it| !it.trim().is_empty());
        return (node.confirm && !agreed).then(|| Refusal::Unconfirmed {
            tool: pass.tool.to_string().into(),
            at: node.id.clone(),
        });
    }
    let name = pass.tool.to_string();
    let nodes = here.nodes_with(&name);
    let path = here.path(at, &nodes).unwrap_or_default();
    let id = |at: &crate::ids::NodeIx| here.node(*at).id.clone();
    let mut allowed = node.map(|it| it.tools.clone()).unwrap_or_default();
    allowed.extend(sop.anywhere.iter().cloned());
    Some(Refusal::NoTool {
        tool: name.into(),
        at: node.map(|it| it.id.clone()),
        here: allowed,
        nodes: nodes.iter().map(id).collect(),
        path: path.iter().map(id).collect(),
    })
}
