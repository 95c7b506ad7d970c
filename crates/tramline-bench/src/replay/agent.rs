//! The recorded agent, made cooperative: it does what a rejection names, and nothing else.

use super::write_kind::WRITES;
use super::{GateOutcome, Replay, ReplaySummary, ShopWrite, SimulatedShop, WriteKind};
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_sop::audit::{Transcript, TranscriptEntry};
use tramline_sop::{CallRequest, MoveRequest, NeededCall, SopDecision, SopRefusal, SopSession};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Entry, Event, SopEvent, SopStarted, ToolAnswered};

/// Attempts at a call: each rejection names something new to do.
const TRIES_MAX: usize = 12;
/// The server of the shop's tools.
const SERVER: &str = "shop";

pub(super) struct ReplayAgent<'r> {
    replay: &'r Replay,
    sop_session: SopSession,
    shop: SimulatedShop,
    session_name: String,
    /// Whether everything so far went as recorded.
    is_as_recorded: bool,
    /// Whether the recording has the outcomes of calls; otherwise the simulated shop decides what
    /// is rejected.
    has_outcomes: bool,
}

/// The outcomes of a call.
struct CallAttempts {
    first: GateOutcome,
    last: GateOutcome,
    message: String,
}

/// The name of a tool without the prefixes of clients: `shop:x`, `mcp__shop__x`, `functions.x`.
fn plain_name(tool: &str) -> &str {
    let after = |name, mark| str::rsplit_once(name, mark).map_or(name, |(_, rest)| rest);
    after(after(after(tool, ":"), "__"), ".")
}

impl<'r> ReplayAgent<'r> {
    pub(super) fn new(replay: &'r Replay, transcript: &Transcript) -> Result<Self, String> {
        let begun = SopStarted {
            sops: vec![Arc::clone(&replay.procedure.sop)],
            files: Vec::new(),
            session: None,
            by: "replay".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
            carried: Vec::new(),
        };
        let procedures = vec![Arc::clone(&replay.procedure)];
        let walk = SopSession::start(RunId::new(1, 1), procedures, begun, 0);
        Ok(Self {
            replay,
            sop_session: walk.map_err(|illegal| illegal.message)?,
            shop: SimulatedShop::new(Arc::clone(&replay.records)),
            session_name: super::session_name(transcript).to_owned(),
            is_as_recorded: true,
            has_outcomes: transcript.has_outcomes,
        })
    }

    pub(super) fn replay(
        mut self,
        transcript: &Transcript,
        sums: &mut ReplaySummary,
    ) -> Result<(), String> {
        sums.sessions += 1;
        for act in &transcript.entries {
            match act {
                TranscriptEntry::Message | TranscriptEntry::Slots(_) => {}
                TranscriptEntry::Move(node) => {
                    sums.moves += 1;
                    self.recorded_move(node, sums)?;
                }
                TranscriptEntry::Call {
                    tool,
                    arguments,
                    failed,
                    ..
                } => self.recorded_call(tool, arguments, *failed, sums)?,
            }
        }
        Ok(())
    }

    fn record(&mut self, turn: &SopDecision) -> Result<(), String> {
        for event in turn.events.clone() {
            let entry = Entry {
                seq: self.sop_session.seq + 1,
                at_ms: 0,
                event,
            };
            let applied = self.sop_session.apply(&entry);
            applied.map_err(|illegal| illegal.message)?;
        }
        Ok(())
    }

    fn goto(&mut self, node: &str) -> Result<Option<SopRefusal>, String> {
        let ask = MoveRequest {
            node: Some(node.into()),
            ..MoveRequest::default()
        };
        let turn = tramline_sop::move_to(&self.sop_session, &ask);
        self.record(&turn)?;
        Ok(turn.refusal)
    }

    fn recorded_move(&mut self, node: &str, sums: &mut ReplaySummary) -> Result<(), String> {
        let Some(refusal) = self.goto(node)? else {
            return Ok(());
        };
        sums.moves_rejected += 1;
        if let SopRefusal::NoEdge { path, .. } = refusal {
            // The last move of the path is the recorded one.
            let before = sums.extra_moves;
            self.follow_path(&path, sums)?;
            sums.extra_moves = sums.extra_moves.saturating_sub(1).max(before);
        }
        Ok(())
    }

    /// Follows a path that a rejection names; returns whether it reached the end.
    fn follow_path(&mut self, path: &[Str], sums: &mut ReplaySummary) -> Result<bool, String> {
        for node in path {
            if self.sop_session.current_node_id() == Some(node) {
                continue;
            }
            sums.extra_moves += 1;
            if self.goto(node)?.is_some() {
                return Ok(false);
            }
        }
        Ok(!path.is_empty())
    }

    fn recorded_call(
        &mut self,
        tool: &str,
        arguments: &Value,
        failed: bool,
        sums: &mut ReplaySummary,
    ) -> Result<(), String> {
        let tool = plain_name(tool);
        let is_write = WRITES.contains(&tool);
        let failed = match self.has_outcomes {
            true => failed,
            false => is_write && self.shop.clone().call(tool, arguments).is_err(),
        };
        let kind = self
            .replay
            .kind(&self.session_name, tool, arguments, failed);
        // A person who is asked approves right calls.
        let agrees = kind == WriteKind::Right;
        let (tried, answer) = self.call(tool, arguments, agrees, sums)?;
        let is_made = answer.is_some();
        let compares = self.is_as_recorded && self.has_outcomes;
        if let Some(is_fine) = answer.filter(|_| compares) {
            match is_fine != failed {
                true => sums.agreeing += 1,
                false => sums.disagreeing += 1,
            }
        }
        if !is_write {
            sums.others_rejected += usize::from(!is_made);
            return Ok(());
        }
        self.is_as_recorded &= is_made;
        sums.writes.push(ShopWrite {
            session: self.session_name.clone(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            kind,
            first: tried.first,
            last: tried.last,
            message: tried.message,
        });
        Ok(())
    }

    /// Calls a tool, and does what rejections name. Returns whether the shop accepted it, if it was
    /// made.
    fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        agrees: bool,
        sums: &mut ReplaySummary,
    ) -> Result<(CallAttempts, Option<bool>), String> {
        let mut first = None;
        let mut says = String::new();
        let mut last = GateOutcome::RuleBroken;
        for _ in 0..TRIES_MAX {
            let turn = self.attempt(tool, arguments)?;
            let Some(refusal) = turn.refusal.clone() else {
                let is_asked = turn.events.iter().any(
                    |event| matches!(event, Event::Sop(SopEvent::ToolCalled(called)) if called.run.is_some()),
                );
                last = if is_asked {
                    GateOutcome::Asked
                } else {
                    GateOutcome::Made
                };
                if let (true, Some(Event::Sop(SopEvent::ToolCalled(called)))) =
                    (is_asked, turn.events.first())
                {
                    let broken = called.rules.iter().filter(|it| it.holds == Some(false));
                    says = broken
                        .map(|it| it.describe())
                        .collect::<Vec<_>>()
                        .join("; ");
                }
                let accepted = self.answer(tool, arguments, !is_asked || agrees)?;
                let first = first.unwrap_or(last);
                return Ok((
                    CallAttempts {
                        first,
                        last,
                        message: says,
                    },
                    accepted,
                ));
            };
            says = refusal.message();
            let (fate, helped) = self.follow_rejection(&refusal, sums)?;
            first.get_or_insert(fate);
            last = fate;
            if !helped {
                break;
            }
        }
        let first = first.unwrap_or(last);
        Ok((
            CallAttempts {
                first,
                last,
                message: says,
            },
            None,
        ))
    }

    fn attempt(&mut self, tool: &str, arguments: &Value) -> Result<SopDecision, String> {
        let pass = CallRequest {
            written: None,
            repeats: None,
            tool: ToolName::new(SERVER, tool),
            arguments: arguments.clone(),
            confirmed: None,
            approval_run: Some(RunId::new(2, u128::from(self.sop_session.call_count))),
            requires_approval: false,
            bare_name_differs: false,
            step: None,
            upstream: None,
        };
        let turn = tramline_sop::check_call(&self.sop_session, pass);
        self.record(&turn)?;
        Ok(turn)
    }

    /// Lets the shop answer the announced call; returns whether it accepted it, if it was made.
    fn answer(
        &mut self,
        tool: &str,
        arguments: &Value,
        is_made: bool,
    ) -> Result<Option<bool>, String> {
        let answer = match is_made {
            true => self
                .shop
                .call(tool, arguments)
                .map_err(|why| (FailureKind::Tool, why)),
            false => Err((FailureKind::Rejected, "rejected by a person".to_owned())),
        };
        let accepted = is_made.then_some(answer.is_ok());
        let answered = ToolAnswered {
            redacted: Vec::new(),
            call: self.sop_session.call_count,
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.err().map(|(kind, why)| Failure::new(kind, why)),
            by: None,
            edited_arguments: None,
        };
        self.record(&SopDecision {
            events: vec![Event::Sop(SopEvent::ToolAnswered(Box::new(answered)))],
            ..SopDecision::default()
        })?;
        Ok(accepted)
    }

    /// Does what a rejection names; returns its reason, and whether there was something to do.
    fn follow_rejection(
        &mut self,
        refusal: &SopRefusal,
        sums: &mut ReplaySummary,
    ) -> Result<(GateOutcome, bool), String> {
        match refusal {
            SopRefusal::ToolNotAllowed { path, .. } => {
                let path = path.clone();
                let walked = self.follow_path(&path, sums)?;
                Ok((GateOutcome::OutOfPlace, walked))
            }
            SopRefusal::RulesViolated { report, .. } => {
                let is_broken = report
                    .checked
                    .iter()
                    .any(|it| it.holds == Some(false) && !it.asks);
                if is_broken {
                    return Ok((GateOutcome::RuleBroken, false));
                }
                let needed = report.needed.clone();
                Ok((GateOutcome::LookUpMissing, self.look_up(&needed, sums)?))
            }
            _ => Ok((GateOutcome::OutOfPlace, false)),
        }
    }

    /// Makes the lookups that a rejection names with arguments; returns whether one succeeded.
    fn look_up(&mut self, needed: &[NeededCall], sums: &mut ReplaySummary) -> Result<bool, String> {
        let mut helped = false;
        for one in needed.iter().filter(|it| !it.arguments.is_null()) {
            let is_given = one.arguments.as_object().is_some_and(|map| !map.is_empty());
            if !is_given {
                continue;
            }
            sums.extra_look_ups += 1;
            if self.attempt(&one.tool, &one.arguments)?.refusal.is_none() {
                helped |= self.answer(&one.tool, &one.arguments, true)? == Some(true);
            }
        }
        Ok(helped)
    }
}
