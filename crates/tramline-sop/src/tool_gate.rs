//! The gate for tool calls: a call is allowed where the node, or the whole procedure, lists the
//! tool.

use super::redacted::differing_places;
use super::{RuleReport, SopDecision, SopRefusal, SopSession, check_rules};
use tramline_expr::{Str, Value};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{
    CallingStep, CheckedRule, Event, RefusedRequest, RequestKind, SopEvent, ToolCalled,
};
use tramline_workflow::sop::SopMode;
use tramline_workflow::trace_context::TraceContext;

/// A request to call a tool.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The tool.
    pub tool: ToolName,
    /// The arguments as they are sent, which rules judge.
    pub arguments: Value,
    /// The arguments as they are written, if they contain secrets.
    pub written: Option<Value>,
    /// The same call, sent before without a known result, that this one is to repeat.
    pub repeats: Option<u32>,
    /// How the user agreed, in the caller's words. Where a person can be asked, this is only
    /// displayed.
    pub confirmed: Option<Str>,
    /// The approval run in which a person would be asked; `None` if the caller is that person.
    pub approval_run: Option<RunId>,
    /// Whether approval is required for a reason other than the procedure.
    pub requires_approval: bool,
    /// Whether the bare tool name means another tool, or none. If so, lists contain it only by its
    /// full name.
    pub bare_name_differs: bool,
    /// The step that makes the call, if a run makes it rather than the agent.
    pub step: Option<CallingStep>,
    /// The caller's trace context.
    pub upstream: Option<TraceContext>,
}

/// Decides about a call: returns the event that announces it, or the refusal.
pub fn check_call(walk: &SopSession, pass: CallRequest) -> SopDecision {
    let mode = walk.sop().call_mode();
    let mut report = rule_report(walk, &pass, None);
    // A limit counts a call in doubt. Whether its repetition is a second call is for a person to say.
    let mut repeats = None;
    if let Some(earlier) = pass.repeats.filter(|_| pass.approval_run.is_some())
        && report.refuses()
    {
        let without = rule_report(&walk.without_call(earlier), &pass, None);
        if !without.refuses() {
            (report, repeats) = (without, Some(earlier));
        }
    }
    let (against, asks) = match find_refusal(walk, &pass, &report) {
        Some(SopRefusal::ApprovalMissing { .. })
            if mode == SopMode::Strict && pass.approval_run.is_some() =>
        {
            (None, true)
        }
        against => (against, pass.requires_approval),
    };
    if let Some(refusal) = against.clone()
        && mode == SopMode::Strict
    {
        let event = Event::Sop(SopEvent::Refused(Box::new(RefusedRequest {
            what: RequestKind::Call,
            target: pass.tool.to_string().into(),
            why: refusal.journal_message().into(),
            rules: report.checked,
        })));
        return SopDecision {
            events: vec![event],
            refusal: Some(refusal),
            warning: None,
        };
    }
    let says: Option<Str> = against.map(|it| it.message().into());
    let warning = says.clone().filter(|_| mode == SopMode::Warn);
    let is_repetition = repeats.is_some() && mode == SopMode::Strict;
    let announced = announce_call(walk, CallRequest { repeats, ..pass }, asks || is_repetition);
    announced.with(says, report.checked, warning)
}

/// The question that a call replaces: the only one whose call, although nobody approved it, makes the
/// rules refuse this one. If several do, it is unknown which of them is meant.
pub fn question_to_replace(walk: &SopSession, pass: &CallRequest) -> Option<RunId> {
    let is_refused = |walk: &SopSession| {
        let refusal = find_refusal(walk, pass, &rule_report(walk, pass, None));
        matches!(refusal, Some(SopRefusal::RulesViolated { .. }))
    };
    if walk.sop().call_mode() != SopMode::Strict
        || walk.pending_approvals().next().is_none()
        || !is_refused(walk)
    {
        return None;
    }
    let waiting = walk.pending_approvals();
    let mut in_the_way = waiting.filter(|(call, _)| !is_refused(&walk.without_call(*call)));
    let (_, run) = in_the_way.next()?;
    in_the_way.next().is_none().then(|| run.clone())
}

/// Announces a call of a tool that the operator exempts from the gate, where no node allows it.
pub fn announce_exempt_call(walk: &SopSession, pass: CallRequest) -> SopDecision {
    let asks = pass.requires_approval;
    let pass = CallRequest {
        repeats: None,
        ..pass
    };
    announce_call(walk, pass, asks).with(None, Vec::new(), None)
}

/// A call that will be announced, before the gate's verdict is added to it.
struct Announcement(ToolCalled);

impl Announcement {
    fn with(
        self,
        against: Option<Str>,
        rules: Vec<CheckedRule>,
        warning: Option<Str>,
    ) -> SopDecision {
        let called = ToolCalled {
            against,
            rules,
            ..self.0
        };
        SopDecision {
            events: vec![Event::Sop(SopEvent::ToolCalled(Box::new(called)))],
            refusal: None,
            warning,
        }
    }
}

fn announce_call(walk: &SopSession, pass: CallRequest, asks: bool) -> Announcement {
    let written = pass.written.unwrap_or_else(|| pass.arguments.clone());
    Announcement(ToolCalled {
        call: walk.call_count + 1,
        tool: pass.tool,
        redacted: differing_places(&pass.arguments, &written),
        arguments: written,
        confirmed: pass.confirmed,
        against: None,
        run: pass.approval_run.filter(|_| asks),
        repeats: pass.repeats,
        step: pass.step.map(Box::new),
        is_other: pass.bare_name_differs,
        upstream: pass.upstream.map(Box::new),
        rules: Vec::new(),
    })
}

/// Whether a list contains a tool, by its full name or without its server.
pub(super) fn is_listed(list: &[Str], tool: &ToolName) -> bool {
    list.iter()
        .any(|it| *it == tool.tool || *it == tool.to_string())
}

impl CallRequest {
    /// Whether a list contains the tool, by its full name or, if that is unambiguous, without its
    /// server.
    fn is_in(&self, list: &[Str]) -> bool {
        is_in(list, &self.tool, self.bare_name_differs)
    }
}

fn is_in(list: &[Str], tool: &ToolName, is_other: bool) -> bool {
    match is_other {
        true => list.iter().any(|it| *it == tool.to_string()),
        false => is_listed(list, tool),
    }
}

fn rule_report(walk: &SopSession, pass: &CallRequest, except: Option<u32>) -> RuleReport {
    match walk.sop().gated {
        true => {
            let report = check_rules(walk, &pass.tool, &pass.arguments, except);
            match &pass.written {
                Some(written) if *written != pass.arguments => {
                    report.shown_as(check_rules(walk, &pass.tool, written, except))
                }
                Some(_) | None => report,
            }
        }
        false => RuleReport::default(),
    }
}

/// Why an announced call is not allowed at the current node, apart from a missing approval. `except`
/// is the call itself, unless it counts as an earlier one.
pub fn announced_call_refusal(
    walk: &SopSession,
    pass: &CallRequest,
    except: Option<u32>,
) -> Option<SopRefusal> {
    if walk.sop().call_mode() != SopMode::Strict {
        return None;
    }
    let refusal = find_refusal(walk, pass, &rule_report(walk, pass, except));
    refusal.filter(|it| !matches!(it, SopRefusal::ApprovalMissing { .. }))
}

/// Whether the procedure lists a tool at the current node or for every node.
pub fn is_listed_here(walk: &SopSession, tool: &ToolName, is_other: bool) -> bool {
    let here = walk.current_procedure();
    let node = walk.frame().node.map(|at| here.node(at));
    let is_in = |list: &[Str]| is_in(list, tool, is_other);
    is_in(&walk.sop().anywhere)
        || is_in(&here.sop.anywhere)
        || node.is_some_and(|node| is_in(&node.tools))
}

/// Whether a node through which the innermost procedure was entered requires approval of each call.
fn is_entered_with_confirm(walk: &SopSession) -> bool {
    let frames = walk.frames();
    let mut doors = frames[..frames.len() - 1].iter();
    doors.any(|frame| {
        let procedure = walk.procedure(frame.sop).zip(frame.node);
        procedure.is_some_and(|(procedure, at)| procedure.node(at).confirm)
    })
}

/// Why a call is not allowed. The node is checked first, then the rules, then approval.
fn find_refusal(walk: &SopSession, pass: &CallRequest, report: &RuleReport) -> Option<SopRefusal> {
    let sop = walk.sop();
    let here = walk.current_procedure();
    let anywhere = pass.is_in(&sop.anywhere) || pass.is_in(&here.sop.anywhere);
    if !sop.gated {
        return None;
    }
    let node = walk.frame().node.map(|at| here.node(at));
    let listed = node.filter(|node| !anywhere && pass.is_in(&node.tools));
    if anywhere || listed.is_some() {
        let confirm = listed.is_some_and(|it| it.confirm || is_entered_with_confirm(walk));
        if report.refuses() {
            return Some(SopRefusal::RulesViolated {
                tool: pass.tool.to_string().into(),
                at: node.map(|it| it.id.clone()),
                report: report.clone(),
            });
        }
        let is_said = pass
            .confirmed
            .as_ref()
            .is_some_and(|it| !it.trim().is_empty());
        // An agent's statement does not count as a person's approval.
        let agreed = is_said && (pass.approval_run.is_none() || sop.call_mode() != SopMode::Strict);
        return ((confirm || report.asks()) && !agreed).then(|| SopRefusal::ApprovalMissing {
            tool: pass.tool.to_string().into(),
            at: node.map_or_else(|| "the procedure".into(), |it| it.id.clone()),
        });
    }
    let name = pass.tool.to_string();
    let route = walk.route(|procedure| match pass.bare_name_differs {
        true => procedure.nodes_with_exactly(&name),
        false => procedure.nodes_with(&name),
    });
    let mut allowed = node.map(|it| it.tools.clone()).unwrap_or_default();
    allowed.extend(sop.anywhere.iter().cloned());
    Some(SopRefusal::ToolNotAllowed {
        tool: name.into(),
        at: node.map(|it| it.id.clone()),
        here: allowed,
        nodes: route.nodes,
        path: route.path,
    })
}
