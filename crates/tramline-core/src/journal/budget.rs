//! Budgets: what a run may use before it asks whether it may use more.

use crate::text::{nearest, shown};
use serde::{Deserialize, Serialize};
use tramline_expr::Value;

/// What a run may use before it asks. What is left out is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// How many calls may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// How long it may be at work, waiting for people not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
    /// How many bytes its journal may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many tokens models may read and write for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// The parts of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spent {
    /// Calls.
    Calls,
    /// Time at work.
    Time,
    /// Bytes of the journal.
    Bytes,
    /// Tokens of models.
    Tokens,
}

impl Spent {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::Calls, Self::Time, Self::Bytes, Self::Tokens];

    /// The budget's field for it, as users write it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Time => "active_ms",
            Self::Bytes => "bytes",
            Self::Tokens => "tokens",
        }
    }

    /// What is counted, for people.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Time => "ms at work",
            Self::Bytes => "bytes of journal",
            Self::Tokens => "tokens",
        }
    }
}

impl Budget {
    /// A budget of one part.
    pub fn of(what: Spent, most: u64) -> Self {
        let mut budget = Self::default();
        *budget.part_mut(what) = Some(most);
        budget
    }

    /// How much there is of a part, if that is bounded.
    pub fn part(&self, what: Spent) -> Option<u64> {
        match what {
            Spent::Calls => self.calls,
            Spent::Time => self.active_ms,
            Spent::Bytes => self.bytes,
            Spent::Tokens => self.tokens,
        }
    }

    fn part_mut(&mut self, what: Spent) -> &mut Option<u64> {
        match what {
            Spent::Calls => &mut self.calls,
            Spent::Time => &mut self.active_ms,
            Spent::Bytes => &mut self.bytes,
            Spent::Tokens => &mut self.tokens,
        }
    }

    /// Adds to what is bounded. What is not stays so.
    pub fn extend(&mut self, more: &Self) {
        for what in Spent::ALL {
            if let (Some(most), Some(more)) = (self.part_mut(what), more.part(what)) {
                *most = most.saturating_add(more);
            }
        }
    }

    /// Of each part the smaller bound of two budgets.
    pub fn lesser(&self, other: &Self) -> Self {
        let mut lesser = Self::default();
        for what in Spent::ALL {
            *lesser.part_mut(what) = match (self.part(what), other.part(what)) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            };
        }
        lesser
    }

    /// Takes away what was used of a part, as far as that is bounded.
    pub fn spend(&mut self, what: Spent, used: u64) {
        if let Some(most) = self.part_mut(what) {
            *most = most.saturating_sub(used);
        }
    }

    /// Reads what a caller wrote: an object of numbers, some of `calls`, `active_ms`, `bytes`,
    /// `tokens`.
    pub fn read(value: &Value) -> Result<Self, String> {
        let known = || Spent::ALL.map(Spent::field).join(", ");
        let Some(fields) = value.as_object() else {
            return Err(format!("a budget is an object of: {}", known()));
        };
        let mut budget = Self::default();
        for (key, most) in fields.iter() {
            let Some(what) = Spent::ALL.into_iter().find(|what| what.field() == key) else {
                let near = nearest(key, Spent::ALL.into_iter().map(Spent::field));
                let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                let key = shown(key);
                return Err(format!("a budget has no `{key}`; {near}it has {}", known()));
            };
            let Some(most) = most.as_u64() else {
                return Err(format!("`{key}` of a budget is a whole number from 0 on"));
            };
            *budget.part_mut(what) = Some(most);
        }
        Ok(budget)
    }
}
