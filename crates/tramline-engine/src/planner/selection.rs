//! Which plan is taken for a request, and whether the past has a say in it.
//!
//! The plan is first made without the past. Precedents vote only if they speak of the same things: if
//! some tool of that plan was ever used, or if they are so near, and so much of one mind, that the words
//! of tools matter less. A past from other domains shares words with a request and nothing else, and would
//! only lead away from what was found.

use super::scene::{NearPrecedents, Place, Scene};
use super::signs::{Weighed, sureness};
use super::{Ask, chain, choose, clause_places, weighed};

/// A clause that says what it wants as plainly as this needs no vote.
const PLAIN_MIN: f64 = 0.4;
/// Below this, what the clauses plainly say goes before what was weighed.
const SURE_MIN: f64 = 0.8;
/// Precedents that were never about a tool that was found vote if the nearest is so near ...
const NEAR_ENOUGH_MIN: f64 = 0.5;
/// ... and so large a share of the votes names the same tool.
const AGREED_MIN: f64 = 0.8;

/// The plans that may be meant, the one that is taken first.
pub(super) struct Selection<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) weighed: Vec<Weighed>,
    /// What the clauses say, one after the other.
    pub(super) said: Vec<Place>,
    /// How sure it is that what was always done is wanted again, where that is the plan.
    pub(super) usual: Option<f64>,
}

impl<'a> Selection<'a> {
    pub(super) fn of(ask: &Ask<'a>) -> Self {
        let near = NearPrecedents::of(ask);
        let alone = Self::by(ask, &NearPrecedents::NONE);
        if near.is_empty() {
            return alone;
        }
        let scene = Scene::new(ask, &near);
        match alone.was_ever_used(ask) || is_of_one_mind(&scene) {
            true => Self::in_scene(ask, scene),
            false => alone,
        }
    }

    fn by(ask: &Ask<'a>, near: &NearPrecedents) -> Self {
        Self::in_scene(ask, Scene::new(ask, near))
    }

    fn in_scene(ask: &Ask<'_>, scene: Scene<'a>) -> Self {
        let said = clause_places(ask, &scene);
        let mut weighed = weighed(&scene, &said);
        let plans: Vec<_> = weighed
            .iter()
            .map(|one| (&one.tools[..], one.share))
            .collect();
        if let Some(nearest) = choose(&plans, !scene.voters.is_empty()) {
            weighed[..=nearest].rotate_right(1);
        }
        let sure = weighed.first().map(|one| sureness(one.share, &scene));
        if is_plain(ask) && sure.unwrap_or(0.0) < SURE_MIN {
            lead_with(&mut weighed, &said);
        }
        if let Some(tools) = chain::instead(ask, &scene, &weighed) {
            lead_with(&mut weighed, &tools);
        }
        let usual = scene.habit();
        let usual = usual.filter(|(tools, _)| lead_with(&mut weighed, tools));
        let usual = usual.map(|(_, sure)| sure);
        Self {
            scene,
            weighed,
            said,
            usual,
        }
    }

    /// Whether some tool of the plan was ever used. Where nothing was found, there is nothing to go by
    /// but the past.
    fn was_ever_used(&self, ask: &Ask<'_>) -> bool {
        let Some(picked) = self.weighed.first() else {
            return true;
        };
        let mut tools = picked.tools.iter().map(|place| self.scene.seen(*place));
        tools.any(|seen| ask.past.number(&seen.tool.name.to_string()).is_some())
    }
}

/// Whether the nearest precedents leave no doubt of what they are about.
fn is_of_one_mind(scene: &Scene<'_>) -> bool {
    let nearest = scene.voters.iter().map(|voter| voter.same);
    let nearest = nearest.fold(0.0, f64::max);
    let agreed = scene.tools.iter().map(|seen| seen.vote).fold(0.0, f64::max);
    scene.habit().is_some() || (nearest >= NEAR_ENOUGH_MIN && agreed >= AGREED_MIN)
}

/// Whether every clause says plainly which tool it wants.
fn is_plain(ask: &Ask<'_>) -> bool {
    let fits = ask.found.clauses.iter();
    let mut fits = fits.map(|clause| clause.best.as_ref().map_or(0.0, |(_, fit)| *fit));
    !ask.found.clauses.is_empty() && fits.all(|fit| fit >= PLAIN_MIN)
}

/// Puts a plan first; whether it is there.
fn lead_with(weighed: &mut [Weighed], tools: &[Place]) -> bool {
    let at = weighed.iter().position(|one| one.tools == tools);
    if let Some(at) = at {
        weighed[..=at].rotate_right(1);
    }
    at.is_some()
}
