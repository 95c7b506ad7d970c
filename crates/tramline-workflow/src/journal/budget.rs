//! Budgets: what a run may use before it pauses and asks for more.

use crate::text::{display_name, nearest};
use serde::{Deserialize, Serialize};
use tramline_expr::Value;

/// What a run may use before it asks. Missing parts are unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Calls that may be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Active time in milliseconds, excluding the time it waits for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
    /// Bytes of its journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Tokens that models may read and write for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// The parts of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetPart {
    /// Calls.
    Calls,
    /// Active time.
    Time,
    /// Bytes of the journal.
    Bytes,
    /// Model tokens.
    Tokens,
}

impl BudgetPart {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::Calls, Self::Time, Self::Bytes, Self::Tokens];

    /// The name of the budget field.
    pub fn field(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Time => "active_ms",
            Self::Bytes => "bytes",
            Self::Tokens => "tokens",
        }
    }

    /// The unit, for messages.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Time => "ms of active time",
            Self::Bytes => "bytes of journal",
            Self::Tokens => "tokens",
        }
    }
}

impl Budget {
    /// A budget with a single limited part.
    pub fn of_part(what: BudgetPart, most: u64) -> Self {
        let mut budget = Self::default();
        *budget.part_mut(what) = Some(most);
        budget
    }

    /// The limit of a part, if it has one.
    pub fn part(&self, what: BudgetPart) -> Option<u64> {
        match what {
            BudgetPart::Calls => self.calls,
            BudgetPart::Time => self.active_ms,
            BudgetPart::Bytes => self.bytes,
            BudgetPart::Tokens => self.tokens,
        }
    }

    fn part_mut(&mut self, what: BudgetPart) -> &mut Option<u64> {
        match what {
            BudgetPart::Calls => &mut self.calls,
            BudgetPart::Time => &mut self.active_ms,
            BudgetPart::Bytes => &mut self.bytes,
            BudgetPart::Tokens => &mut self.tokens,
        }
    }

    /// Adds to the limited parts. Unlimited parts stay unlimited.
    pub fn extend(&mut self, more: &Self) {
        for what in BudgetPart::ALL {
            if let (Some(most), Some(more)) = (self.part_mut(what), more.part(what)) {
                *most = most.saturating_add(more);
            }
        }
    }

    /// The smaller limit of two budgets for each part.
    pub fn min(&self, other: &Self) -> Self {
        let mut lesser = Self::default();
        for what in BudgetPart::ALL {
            *lesser.part_mut(what) = match (self.part(what), other.part(what)) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            };
        }
        lesser
    }

    /// Subtracts what was used of a part, if it is limited.
    pub fn subtract(&mut self, what: BudgetPart, used: u64) {
        if let Some(most) = self.part_mut(what) {
            *most = most.saturating_sub(used);
        }
    }

    /// Reads a caller's budget: an object of numbers with some of `calls`, `active_ms`, `bytes`,
    /// `tokens`.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let known = || BudgetPart::ALL.map(BudgetPart::field).join(", ");
        let Some(fields) = value.as_object() else {
            return Err(format!("a budget is an object with some of: {}", known()));
        };
        let mut budget = Self::default();
        for (key, most) in fields.iter() {
            let Some(what) = BudgetPart::ALL.into_iter().find(|what| what.field() == key) else {
                let near = nearest(key, BudgetPart::ALL.into_iter().map(BudgetPart::field));
                let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                let key = display_name(key);
                return Err(format!(
                    "a budget has no field `{key}`; {near}known fields: {}",
                    known()
                ));
            };
            let Some(most) = most.as_u64() else {
                return Err(format!(
                    "the budget field `{key}` must be a whole number of at least 0"
                ));
            };
            *budget.part_mut(what) = Some(most);
        }
        Ok(budget)
    }
}
