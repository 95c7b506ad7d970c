//! The recorded agent, made cooperative: it does what a refusal names, and nothing else.

use super::judge::WRITES;
use super::{Fate, Kind, Replay, Shop, Sums, Write};
use std::sync::Arc;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{Entry, Event, Guided, ToolAnswered};
use tramline_core::navigate::audit::{Act, Transcript};
use tramline_core::navigate::{self, Ask, NeededCall, Pass, Refusal, Turn, Walk};
use tramline_core::{Str, Value};

/// A call is tried again at most so often: each refusal names something new to do.
const TRIES_MAX: usize = 12;
/// The server of the shop's tools.
const SERVER: &str = "shop";

pub(super) struct Agent<'r> {
    replay: &'r Replay,
    walk: Walk,
    shop: Shop,
    conversation: String,
    /// Whether everything went as it was recorded so far.
    is_as_recorded: bool,
    /// Whether the recording says how calls ended; otherwise the stand-in says what the shop rejects.
    has_outcomes: bool,
}

/// A call with what became of it.
struct Tried {
    first: Fate,
    last: Fate,
    says: String,
}

/// The name of a tool without what clients put before it: `shop:x`, `mcp__shop__x`, `functions.x`.
fn plain_name(tool: &str) -> &str {
    let after = |name, mark| str::rsplit_once(name, mark).map_or(name, |(_, rest)| rest);
    after(after(after(tool, ":"), "__"), ".")
}

impl<'r> Agent<'r> {
    pub(super) fn new(replay: &'r Replay, transcript: &Transcript) -> Result<Self, String> {
        let begun = Guided {
            sops: vec![Arc::clone(&replay.procedure.sop)],
            files: Vec::new(),
            session: None,
            by: "replay".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
        };
        let procedures = vec![Arc::clone(&replay.procedure)];
        let walk = Walk::begin(RunId::new(1, 1), procedures, begun, 0);
        Ok(Self {
            replay,
            walk: walk.map_err(|illegal| illegal.message)?,
            shop: Shop::new(Arc::clone(&replay.records)),
            conversation: super::name(transcript).to_owned(),
            is_as_recorded: true,
            has_outcomes: transcript.has_outcomes,
        })
    }

    pub(super) fn replay(mut self, transcript: &Transcript, sums: &mut Sums) -> Result<(), String> {
        sums.conversations += 1;
        for act in &transcript.acts {
            match act {
                Act::Said | Act::Slots(_) => {}
                Act::Move(node) => {
                    sums.moves += 1;
                    self.recorded_move(node, sums)?;
                }
                Act::Call {
                    tool,
                    arguments,
                    failed,
                    ..
                } => self.recorded_call(tool, arguments, *failed, sums)?,
            }
        }
        Ok(())
    }

    fn record(&mut self, turn: &Turn) -> Result<(), String> {
        for event in turn.events.clone() {
            let entry = Entry {
                seq: self.walk.seq + 1,
                at_ms: 0,
                event,
            };
            let applied = self.walk.apply(&entry);
            applied.map_err(|illegal| illegal.message)?;
        }
        Ok(())
    }

    fn go(&mut self, node: &str) -> Result<Option<Refusal>, String> {
        let ask = Ask {
            node: Some(node.into()),
            ..Ask::default()
        };
        let turn = navigate::goto(&self.walk, &ask);
        self.record(&turn)?;
        Ok(turn.refusal)
    }

    fn recorded_move(&mut self, node: &str, sums: &mut Sums) -> Result<(), String> {
        let Some(refusal) = self.go(node)? else {
            return Ok(());
        };
        sums.moves_refused += 1;
        if let Refusal::NoWay { path, .. } = refusal {
            // The last move of the path is the recorded one.
            let before = sums.extra_moves;
            self.follow(&path, sums)?;
            sums.extra_moves = sums.extra_moves.saturating_sub(1).max(before);
        }
        Ok(())
    }

    /// Walks a path that a refusal names; whether it could be walked to its end.
    fn follow(&mut self, path: &[Str], sums: &mut Sums) -> Result<bool, String> {
        for node in path {
            if self.walk.at_id() == Some(node) {
                continue;
            }
            sums.extra_moves += 1;
            if self.go(node)?.is_some() {
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
        sums: &mut Sums,
    ) -> Result<(), String> {
        let tool = plain_name(tool);
        let is_write = WRITES.contains(&tool);
        let failed = match self.has_outcomes {
            true => failed,
            false => is_write && self.shop.clone().call(tool, arguments).is_err(),
        };
        let kind = self
            .replay
            .kind(&self.conversation, tool, arguments, failed);
        // A person who is asked agrees to what is right.
        let agrees = kind == Kind::Right;
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
            sums.others_refused += usize::from(!is_made);
            return Ok(());
        }
        self.is_as_recorded &= is_made;
        sums.writes.push(Write {
            conversation: self.conversation.clone(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            kind,
            first: tried.first,
            last: tried.last,
            says: tried.says,
        });
        Ok(())
    }

    /// Calls a tool, and does what refusals name. Gives whether the shop accepted it, if it was made.
    fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        agrees: bool,
        sums: &mut Sums,
    ) -> Result<(Tried, Option<bool>), String> {
        let mut first = None;
        let mut says = String::new();
        let mut last = Fate::RuleBroken;
        for _ in 0..TRIES_MAX {
            let turn = self.attempt(tool, arguments)?;
            let Some(refusal) = turn.refusal.clone() else {
                let is_asked = turn.events.iter().any(
                    |event| matches!(event, Event::ToolCalled(called) if called.run.is_some()),
                );
                last = if is_asked { Fate::Asked } else { Fate::Made };
                if let (true, Some(Event::ToolCalled(called))) = (is_asked, turn.events.first()) {
                    let broken = called.rules.iter().filter(|it| it.holds == Some(false));
                    says = broken.map(|it| it.says()).collect::<Vec<_>>().join("; ");
                }
                let accepted = self.answer(tool, arguments, !is_asked || agrees)?;
                let first = first.unwrap_or(last);
                return Ok((Tried { first, last, says }, accepted));
            };
            says = refusal.says();
            let (fate, helped) = self.heed(&refusal, sums)?;
            first.get_or_insert(fate);
            last = fate;
            if !helped {
                break;
            }
        }
        let first = first.unwrap_or(last);
        Ok((Tried { first, last, says }, None))
    }

    fn attempt(&mut self, tool: &str, arguments: &Value) -> Result<Turn, String> {
        let pass = Pass {
            tool: ToolName::new(SERVER, tool),
            arguments: arguments.clone(),
            confirmed: None,
            asked_in: Some(RunId::new(2, u128::from(self.walk.calls))),
            asks: false,
            is_other: false,
            step: None,
            upstream: None,
        };
        let turn = navigate::call(&self.walk, pass);
        self.record(&turn)?;
        Ok(turn)
    }

    /// Lets the shop answer the call that was announced; whether it accepted it, if it was made.
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
            false => Err((FailureKind::Rejected, "a person said no".to_owned())),
        };
        let accepted = is_made.then_some(answer.is_ok());
        let answered = ToolAnswered {
            call: self.walk.calls,
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.err().map(|(kind, why)| Failure::new(kind, why)),
            by: None,
            edited_arguments: None,
        };
        self.record(&Turn {
            events: vec![Event::ToolAnswered(Box::new(answered))],
            ..Turn::default()
        })?;
        Ok(accepted)
    }

    /// Does what a refusal names; why it refused, and whether there was something to do.
    fn heed(&mut self, refusal: &Refusal, sums: &mut Sums) -> Result<(Fate, bool), String> {
        match refusal {
            Refusal::NoTool { path, .. } => {
                let path = path.clone();
                let walked = self.follow(&path, sums)?;
                Ok((Fate::OutOfPlace, walked))
            }
            Refusal::Rules { report, .. } => {
                let is_broken = report
                    .checked
                    .iter()
                    .any(|it| it.holds == Some(false) && !it.asks);
                if is_broken {
                    return Ok((Fate::RuleBroken, false));
                }
                let needed = report.needed.clone();
                Ok((Fate::LookUpMissing, self.look_up(&needed, sums)?))
            }
            _ => Ok((Fate::OutOfPlace, false)),
        }
    }

    /// Makes the look-ups that a refusal names with their arguments; whether one succeeded.
    fn look_up(&mut self, needed: &[NeededCall], sums: &mut Sums) -> Result<bool, String> {
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
