//! All attacks on the servers, one entry per kind.

use super::super::seeded_rng::SeededRng;
use super::HostileContext;
use anyhow::Result;

pub(super) mod agents;
pub(super) mod clients;
pub(super) mod documents;
pub(super) mod rebinding;
pub(super) mod servers;

/// A kind of attack. It returns its outcome in a word. An error means that no answer came, which is
/// not a violation by itself: normal calls show whether the server still works.
#[derive(Clone, Copy)]
pub(super) struct Attack {
    pub(super) kind: &'static str,
    pub(super) run: fn(&HostileContext, &mut SeededRng) -> Result<&'static str>,
}

/// All attacks, in no particular order.
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
