//! Everything that is done to the servers, one entry for each kind of attack.

use super::super::chance::Chance;
use super::Arena;
use anyhow::Result;

pub(super) mod agents;
pub(super) mod clients;
pub(super) mod documents;
pub(super) mod rebinding;
pub(super) mod servers;

/// A kind of attack. What it does gives its outcome in a word; an error is an answer that did not
/// come, which is no fault by itself: whether the server still serves is seen by normal calls.
#[derive(Clone, Copy)]
pub(super) struct Attack {
    pub(super) kind: &'static str,
    pub(super) run: fn(&Arena, &mut Chance) -> Result<&'static str>,
}

/// All attacks, in no order.
pub(super) fn all() -> Vec<Attack> {
    let parts = [
        servers::ALL,
        documents::ALL,
        clients::ALL,
        rebinding::ALL,
        agents::ALL,
    ];
    parts.concat()
}
