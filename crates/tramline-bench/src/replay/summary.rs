//! The results of a replay.

use super::{GateOutcome, ShopWrite, WriteKind};
use serde_json::{Value as Json, json};

/// The counts of one kind of write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Their number.
    pub all: usize,
    /// First rejected because the node does not allow them.
    pub first_out_of_place: usize,
    /// First rejected because a lookup is missing.
    pub first_look_up: usize,
    /// First rejected by a rule that does not hold.
    pub first_rule: usize,
    /// Rejected whatever the agent does.
    pub rejected: usize,
    /// Shown to a person for approval.
    pub asked: usize,
    /// Let through.
    pub let_through: usize,
}

/// All counts.
#[derive(Clone, Debug, Default)]
pub struct ReplaySummary {
    /// Sessions.
    pub sessions: usize,
    /// Recorded moves.
    pub moves: usize,
    /// Recorded moves that were rejected.
    pub moves_rejected: usize,
    /// Moves of the cooperative agent beside the recorded ones.
    pub extra_moves: usize,
    /// Lookups made because a rejection named them.
    pub extra_look_ups: usize,
    /// Calls other than writes that stayed rejected.
    pub others_rejected: usize,
    /// Calls on which the simulated and the recorded shop agree, while nothing was rejected before.
    pub agreeing: usize,
    /// Calls on which they disagree.
    pub disagreeing: usize,
    /// Every write.
    pub writes: Vec<ShopWrite>,
}

impl ReplaySummary {
    /// The counts of one kind of write.
    pub fn of(&self, kind: WriteKind) -> WriteCounts {
        let mut counts = WriteCounts::default();
        for write in self.writes.iter().filter(|it| it.kind == kind) {
            counts.all += 1;
            match write.first {
                GateOutcome::OutOfPlace => counts.first_out_of_place += 1,
                GateOutcome::LookUpMissing => counts.first_look_up += 1,
                GateOutcome::RuleBroken => counts.first_rule += 1,
                GateOutcome::Made | GateOutcome::Asked => {}
            }
            match write.last {
                GateOutcome::Made => counts.let_through += 1,
                GateOutcome::Asked => counts.asked += 1,
                GateOutcome::OutOfPlace | GateOutcome::LookUpMissing | GateOutcome::RuleBroken => {
                    counts.rejected += 1
                }
            }
        }
        counts
    }

    /// Extra moves per session.
    pub fn extra_moves_each(&self) -> f64 {
        self.extra_moves as f64 / self.sessions.max(1) as f64
    }

    /// Percentage of right writes that were first rejected, for any reason.
    pub fn right_rejected_at_first(&self) -> f64 {
        let right = self.of(WriteKind::Right);
        let refused = right.first_out_of_place + right.first_look_up + right.first_rule;
        100.0 * refused as f64 / right.all.max(1) as f64
    }

    /// Everything as JSON.
    pub fn to_json(&self) -> Json {
        let counts = WriteKind::ALL.map(|kind| {
            let of = self.of(kind);
            json!({
                "writes": kind.as_str(), "all": of.all,
                "refused_at_first": {
                    "out_of_place": of.first_out_of_place,
                    "look_up_missing": of.first_look_up,
                    "rule_broken": of.first_rule,
                },
                "refused_for_good": of.rejected, "asked": of.asked, "let_through": of.let_through,
            })
        });
        let stopped = self.writes.iter().filter(|it| it.last != GateOutcome::Made);
        let stopped: Vec<Json> = stopped
            .map(|it| {
                json!({
                    "conversation": it.session, "tool": it.tool, "kind": it.kind.as_str(),
                    "asked": it.last == GateOutcome::Asked, "says": it.message,
                })
            })
            .collect();
        json!({
            "conversations": self.sessions,
            "writes": counts,
            "moves": self.moves,
            "moves_refused": self.moves_rejected,
            "extra_moves": self.extra_moves,
            "extra_moves_per_conversation": self.extra_moves_each(),
            "right_refused_at_first_percent": self.right_rejected_at_first(),
            "extra_look_ups": self.extra_look_ups,
            "other_calls_refused": self.others_rejected,
            "shop_agrees": self.agreeing,
            "shop_disagrees": self.disagreeing,
            "stopped": stopped,
        })
    }
}
