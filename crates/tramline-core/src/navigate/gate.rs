//! The gate before tools: a call passes where the node, or the whole procedure, allows it.

use super::{Refusal, RuleReport, Turn, Walk, check_rules};
use crate::ids::{RunId, ToolName};
use crate::journal::{Asked, CallingStep, Event, Refused, ToolCalled};
use crate::sop::Mode;
use crate::upstream::Upstream;
use tramline_expr::{Str, Value};

/// A call that somebody wants to make.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Which tool.
    pub tool: ToolName,
    /// With what.
    pub arguments: Value,
    /// How the user agreed, in the caller's words. Where a person can be asked these are only shown.
    pub confirmed: Option<Str>,
    /// The run in which a person would be asked; nothing where the caller is that person.
    pub asked_in: Option<RunId>,
    /// Whether somebody else than the procedure wants a person to be asked.
    pub asks: bool,
    /// Whether the tool's name alone means another tool, or none: then lists have it by its whole
    /// name only.
    pub is_other: bool,
    /// The step of a run that makes it, where it is not the agent's own call.
    pub step: Option<CallingStep>,
    /// The span of its caller's that it belongs to.
    pub upstream: Option<Upstream>,
}

/// Whether a call may be made: the event that announces it, or the refusal.
pub fn call(walk: &Walk, pass: Pass) -> Turn {
    let mode = walk.sop().call_mode();
    let report = report_of(walk, &pass, None);
    let (against, asks) = match check(walk, &pass, &report) {
        Some(Refusal::Unconfirmed { .. }) if mode == Mode::Strict && pass.asked_in.is_some() => {
            (None, true)
        }
        against => (against, pass.asks),
    };
    if let Some(refusal) = against.clone()
        && mode == Mode::Strict
    {
        let event = Event::Refused(Box::new(Refused {
            what: Asked::Call,
            target: pass.tool.to_string().into(),
            why: refusal.brief().into(),
            rules: report.checked,
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
        run: pass.asked_in.filter(|_| asks),
        step: pass.step.map(Box::new),
        is_other: pass.is_other,
        upstream: pass.upstream.map(Box::new),
        rules: report.checked,
    }));
    Turn {
        events: vec![event],
        refusal: None,
        warning,
    }
}

/// Whether a list has a tool, by its whole name or without its server.
pub(super) fn is_listed(list: &[Str], tool: &ToolName) -> bool {
    list.iter()
        .any(|it| *it == tool.tool || *it == tool.to_string())
}

impl Pass {
    /// Whether a list has the tool, by its whole name or, where that means it, without its server.
    fn is_in(&self, list: &[Str]) -> bool {
        is_in(list, &self.tool, self.is_other)
    }
}

fn is_in(list: &[Str], tool: &ToolName, is_other: bool) -> bool {
    match is_other {
        true => list.iter().any(|it| *it == tool.to_string()),
        false => is_listed(list, tool),
    }
}

fn report_of(walk: &Walk, pass: &Pass, except: Option<u32>) -> RuleReport {
    match walk.sop().gated {
        true => check_rules(walk, &pass.tool, &pass.arguments, except),
        false => RuleReport::default(),
    }
}

/// Why a call that was announced before is not allowed where the conversation stands, apart from a
/// person's agreement.
pub fn against(walk: &Walk, pass: &Pass, announced: u32) -> Option<Refusal> {
    if walk.sop().call_mode() != Mode::Strict {
        return None;
    }
    let refusal = check(walk, pass, &report_of(walk, pass, Some(announced)));
    refusal.filter(|it| !matches!(it, Refusal::Unconfirmed { .. }))
}

/// Whether the procedure itself lists a tool where the conversation stands, or for everywhere.
pub fn is_listed_here(walk: &Walk, tool: &ToolName, is_other: bool) -> bool {
    let here = walk.here();
    let node = walk.frame().at.map(|at| here.node(at));
    let is_in = |list: &[Str]| is_in(list, tool, is_other);
    is_in(&walk.sop().anywhere)
        || is_in(&here.sop.anywhere)
        || node.is_some_and(|node| is_in(&node.tools))
}

/// Why a call is not allowed: its place first, then the rules, then a person's agreement.
fn check(walk: &Walk, pass: &Pass, report: &RuleReport) -> Option<Refusal> {
    let sop = walk.sop();
    let here = walk.here();
    let anywhere = pass.is_in(&sop.anywhere) || pass.is_in(&here.sop.anywhere);
    if !sop.gated {
        return None;
    }
    let node = walk.frame().at.map(|at| here.node(at));
    let listed = node.filter(|node| !anywhere && pass.is_in(&node.tools));
    if anywhere || listed.is_some() {
        let confirm = listed.is_some_and(|it| it.confirm);
        if report.refuses() {
            return Some(Refusal::Rules {
                tool: pass.tool.to_string().into(),
                at: node.map(|it| it.id.clone()),
                report: report.clone(),
            });
        }
        let is_said = pass
            .confirmed
            .as_ref()
            .is_some_and(|it| !it.trim().is_empty());
        // An agent's word is no person's.
        let agreed = is_said && (pass.asked_in.is_none() || sop.call_mode() != Mode::Strict);
        return ((confirm || report.asks()) && !agreed).then(|| Refusal::Unconfirmed {
            tool: pass.tool.to_string().into(),
            at: node.map_or_else(|| "the procedure".into(), |it| it.id.clone()),
        });
    }
    let name = pass.tool.to_string();
    let route = walk.route(|procedure| match pass.is_other {
        true => procedure.nodes_with_exactly(&name),
        false => procedure.nodes_with(&name),
    });
    let mut allowed = node.map(|it| it.tools.clone()).unwrap_or_default();
    allowed.extend(sop.anywhere.iter().cloned());
    Some(Refusal::NoTool {
        tool: name.into(),
        at: node.map(|it| it.id.clone()),
        here: allowed,
        nodes: route.nodes,
        path: route.path,
    })
}
