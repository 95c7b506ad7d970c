//! What a replay comes to.

use super::{Fate, Kind, Write};
use serde_json::{Value as Json, json};

/// The counts of one kind of write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many there are.
    pub all: usize,
    /// Refused at first, because the node does not allow them.
    pub first_out_of_place: usize,
    /// Refused at first, because a look-up is missing.
    pub first_look_up: usize,
    /// Refused at first by a rule that does not hold.
    pub first_rule: usize,
    /// Refused whatever the agent does.
    pub refused: usize,
    /// Put before a person.
    pub asked: usize,
    /// Let through.
    pub let_through: usize,
}

/// Everything that was counted.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Conversations.
    pub conversations: usize,
    /// Recorded moves, and those of them that were refused.
    pub moves: usize,
    /// Recorded moves that were refused.
    pub moves_refused: usize,
    /// Moves that the cooperative agent made beside the recorded ones.
    pub extra_moves: usize,
    /// Look-ups that it made because a refusal named them.
    pub extra_look_ups: usize,
    /// Calls other than writes that stayed refused.
    pub others_refused: usize,
    /// Calls on which the stand-in and the recorded shop agree, while nothing was refused before.
    pub agreeing: usize,
    /// Calls on which they do not.
    pub disagreeing: usize,
    /// Every write.
    pub writes: Vec<Write>,
}

impl Sums {
    /// The counts of one kind of write.
    pub fn of(&self, kind: Kind) -> Counts {
        let mut counts = Counts::default();
        for write in self.writes.iter().filter(|it| it.kind == kind) {
            counts.all += 1;
            match write.first {
                Fate::OutOfPlace => counts.first_out_of_place += 1,
                Fate::LookUpMissing => counts.first_look_up += 1,
                Fate::RuleBroken => counts.first_rule += 1,
                Fate::Made | Fate::Asked => {}
            }
            match write.last {
                Fate::Made => counts.let_through += 1,
                Fate::Asked => counts.asked += 1,
                Fate::OutOfPlace | Fate::LookUpMissing | Fate::RuleBroken => counts.refused += 1,
            }
        }
        counts
    }

    /// Extra moves per conversation.
    pub fn extra_moves_each(&self) -> f64 {
        self.extra_moves as f64 / self.conversations.max(1) as f64
    }

    /// How many of a hundred right writes were refused at first, for whatever reason.
    pub fn right_refused_at_first(&self) -> f64 {
        let right = self.of(Kind::Right);
        let refused = right.first_out_of_place + right.first_look_up + right.first_rule;
        100.0 * refused as f64 / right.all.max(1) as f64
    }

    /// Everything as JSON.
    pub fn to_json(&self) -> Json {
        let counts = Kind::ALL.map(|kind| {
            let of = self.of(kind);
            json!({
                "writes": kind.as_str(), "all": of.all,
                "refused_at_first": {
                    "out_of_place": of.first_out_of_place,
                    "look_up_missing": of.first_look_up,
                    "rule_broken": of.first_rule,
                },
                "refused_for_good": of.refused, "asked": of.asked, "let_through": of.let_through,
            })
        });
        let stopped = self.writes.iter().filter(|it| it.last != Fate::Made);
        let stopped: Vec<Json> = stopped
            .map(|it| {
                json!({
                    "conversation": it.conversation, "tool": it.tool, "kind": it.kind.as_str(),
                    "asked": it.last == Fate::Asked, "says": it.says,
                })
            })
            .collect();
        json!({
            "conversations": self.conversations,
            "writes": counts,
            "moves": self.moves,
            "moves_refused": self.moves_refused,
            "extra_moves": self.extra_moves,
            "extra_moves_per_conversation": self.extra_moves_each(),
            "right_refused_at_first_percent": self.right_refused_at_first(),
            "extra_look_ups": self.extra_look_ups,
            "other_calls_refused": self.others_refused,
            "shop_agrees": self.agreeing,
            "shop_disagrees": self.disagreeing,
            "stopped": stopped,
        })
    }
}
