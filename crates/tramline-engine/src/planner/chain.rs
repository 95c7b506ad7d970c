//! Where the best hits one after the other are a better plan than the one tool that was weighed highest.
//!
//! Without a past, weights prefer one tool to two. That is wrong where a tool has to know which one is
//! meant and nothing says it: then what can tell comes before it. That is a tool that finds such things,
//! or the other one of two hits that are about equally good and each answer to what the other does not.

use super::literals::{self, Kind};
use super::scene::{Place, Scene, Seen};
use super::signs::{Weighed, sureness};
use super::{Ask, words};

/// A plan that is as sure as this is left alone.
const SURE_MIN: f64 = 0.3;
/// Next to the best hit, the second is as good as this.
const EQUAL_MIN: f64 = 0.7;
/// Of what a hit answers to, so much the other does not.
const OWN_MIN: f64 = 0.5;

/// The chain that is better than the plan that comes first, if there is one among those that were weighed.
/// Where precedents vote they know what goes together.
pub(super) fn instead(ask: &Ask<'_>, scene: &Scene<'_>, weighed: &[Weighed]) -> Option<Vec<Place>> {
    let picked = weighed.first().filter(|_| scene.voters.is_empty())?;
    let known = |tools: &Vec<Place>| weighed.iter().any(|one| one.tools == *tools);
    if names_an_id(ask) {
        return None;
    }
    led(scene, picked, weighed).or_else(|| {
        let unsure = picked.tools.len() == 1 && sureness(picked.share, scene) < SURE_MIN;
        both(scene).filter(|tools| unsure && known(tools))
    })
}

/// The plan with a tool before it that finds what its first one has to know.
fn led(scene: &Scene<'_>, picked: &Weighed, weighed: &[Weighed]) -> Option<Vec<Place>> {
    let first = scene.seen(*picked.tools.first()?);
    if !first.by_id {
        return None;
    }
    let leads = |one: &&Weighed| {
        one.tools.get(1..) == Some(&picked.tools[..]) && finds(scene.seen(one.tools[0]), first)
    };
    let led = weighed.iter().find(leads)?;
    Some(led.tools.clone())
}

/// Whether the request, its context or what is done may say which one is meant.
fn names_an_id(ask: &Ask<'_>) -> bool {
    let is_number = |literal: &literals::Literal| literal.kind == Kind::Whole;
    ask.context.is_some() || !ask.done.is_empty() || literals::of(ask.wish).iter().any(is_number)
}

/// Whether one tool finds, without an id, what the other is about.
fn finds(one: &Seen, other: &Seen) -> bool {
    let says = |word: &&String| !words::is_verb(word);
    let mut names = one.name.iter().filter(says);
    one.stage == 0 && !one.by_id && names.any(|word| other.name.contains(word))
}

/// The two best hits, if both are meant: the one that needs no id before the one that does.
fn both(scene: &Scene<'_>) -> Option<Vec<Place>> {
    let is_at = |rank: usize| move |seen: &Seen| seen.found > 0.0 && seen.rank == rank;
    let at = |rank: usize| scene.tools.iter().position(is_at(rank));
    let (best, second) = (at(0)?, at(1)?);
    let (one, other) = (&scene.tools[best], &scene.tools[second]);
    let own = own(scene, one, other).min(own(scene, other, one));
    if one.by_id == other.by_id || other.found < EQUAL_MIN || own < OWN_MIN {
        return None;
    }
    let order = match one.by_id {
        true => [second, best],
        false => [best, second],
    };
    Some(order.map(|place| place as Place).to_vec())
}

/// Of what the request says of one tool, the share that it does not say of the other.
fn own(scene: &Scene<'_>, one: &Seen, other: &Seen) -> f64 {
    let (mut all, mut own) = (0.0, 0.0);
    for (at, telling) in scene.telling.iter().enumerate() {
        if one.pulls[at] > 0.0 {
            all += telling;
            own += if other.pulls[at] > 0.0 { 0.0 } else { *telling };
        }
    }
    own / f64::max(all, f64::MIN_POSITIVE)
}
