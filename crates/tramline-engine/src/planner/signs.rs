//! What speaks for a plan: votes, words and order as numbers, weighed as outcomes have shown.
//!
//! The weights were fitted by `cargo xtask bench planner --fit` to requests whose right plans are known,
//! none of them among those that `bench planner` holds the planner to.

use super::candidates::shares;
use super::scene::{Place, Scene, Seen};
use super::weights::{BY_MEANING, BY_WORDS, Weights};

/// How many signs there are.
pub const SIGNS: usize = 34;
/// What a tool without votes counts as, so that one is not the end of a plan.
const VOTE_FLOOR: f64 = 0.02;
/// The same of a length that no past plan has.
const LENGTH_FLOOR: f64 = 0.05;

/// What speaks for and against a plan.
pub type Signs = [f64; SIGNS];

/// A plan that was weighed.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub(super) tools: Vec<Place>,
    pub(super) signs: Signs,
    /// Its share among all plans.
    pub(super) share: f64,
}

/// Which tool comes right before which.
type Pairs = Vec<(Place, Place)>;

/// What all plans are held against.
struct Ballot {
    shares: Vec<(Vec<Place>, f64)>,
    sets: Vec<(u128, Pairs, f64)>,
}

/// The plans with their shares, best first.
pub(super) fn weigh(
    scene: &Scene<'_>,
    plans: Vec<Vec<Place>>,
    by_clauses: &[Place],
) -> Vec<Weighed> {
    let shares = shares(scene);
    let sets = shares
        .iter()
        .map(|(plan, share)| (set(plan), pairs(plan), *share));
    let ballot = Ballot {
        sets: sets.collect(),
        shares,
    };
    let weigh = |tools: Vec<Place>| {
        let signs = signs(scene, &ballot, &tools, by_clauses);
        let share = score(&signs, scene);
        Weighed {
            tools,
            signs,
            share,
        }
    };
    let mut all: Vec<Weighed> = plans.into_iter().map(weigh).collect();
    let top = all.iter().map(|one| one.share).fold(f64::MIN, f64::max);
    all.iter_mut()
        .for_each(|one| one.share = (one.share - top).exp());
    // The fewer plans there are, the likelier none of them is right.
    let some = all.len() as f64 / (all.len() as f64 + 1.0);
    let sum = all.iter().map(|one| one.share).sum::<f64>() / some;
    all.iter_mut().for_each(|one| one.share /= sum);
    all.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.tools.cmp(&b.tools))
    });
    all
}

fn weights(scene: &Scene<'_>) -> &'static Weights {
    match scene.meant {
        false => &BY_WORDS,
        true => &BY_MEANING,
    }
}

fn score(signs: &Signs, scene: &Scene<'_>) -> f64 {
    let each = signs.iter().zip(&weights(scene).signs);
    each.map(|(sign, (always, learnt))| sign * (always + scene.trust * learnt))
        .sum()
}

/// How sure a plan with a share is, as outcomes have shown.
pub(super) fn sureness(share: f64, scene: &Scene<'_>) -> f64 {
    let share = share.clamp(1e-6, 1.0 - 1e-6);
    let [bias, slope, learnt] = weights(scene).sureness;
    let sum = bias + slope * (share / (1.0 - share)).ln() + learnt * scene.trust;
    1.0 / (1.0 + (-sum).exp())
}

fn set(plan: &[Place]) -> u128 {
    plan.iter().fold(0, |set, place| set | 1 << *place)
}

fn pairs(plan: &[Place]) -> Pairs {
    plan.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// How alike two plans are by their pairs of neighbours.
fn alike(one: &[(Place, Place)], other: &[(Place, Place)]) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        all => 2.0 * one.iter().filter(|pair| other.contains(pair)).count() as f64 / all as f64,
    }
}

fn signs(scene: &Scene<'_>, ballot: &Ballot, plan: &[Place], by_clauses: &[Place]) -> Signs {
    let count = plan.len() as f64;
    let (tools, links) = (set(plan), pairs(plan));
    let seen: Vec<_> = plan.iter().map(|place| scene.seen(*place)).collect();
    let same = ballot.shares.iter().find(|(known, _)| known == plan);
    let node = |other: u128| {
        2.0 * f64::from((tools & other).count_ones())
            / f64::from(tools.count_ones() + other.count_ones())
    };
    let nodes: f64 = ballot
        .sets
        .iter()
        .map(|(other, _, share)| share * node(*other))
        .sum();
    let edges: f64 = ballot
        .sets
        .iter()
        .map(|(_, other, share)| share * alike(&links, other))
        .sum();
    let long: f64 = ballot
        .shares
        .iter()
        .filter(|(known, _)| known.len() == plan.len())
        .map(|(_, share)| share)
        .sum();
    let found: f64 = seen.iter().map(|one| one.found).sum();
    let least = |of: fn(&Seen) -> f64| seen.iter().map(|one| of(one)).fold(1.0, f64::min);
    let votes: f64 = seen.iter().map(|one| (one.vote + VOTE_FLOOR).ln()).sum();
    let voted = if scene.voters.is_empty() { 0.0 } else { 1.0 };
    let order = Order::of(scene, plan);
    // Who wants much says much.
    let words = (1.0 + scene.telling.len() as f64).ln();
    [
        same.map_or(0.0, |(_, share)| *share),
        nodes,
        edges,
        found / count,
        found,
        covered(scene, plan),
        voted * order.follows / count,
        voted * order.before / count,
        order.clauses / count,
        order.stages / count,
        order.kin,
        voted * (long + LENGTH_FLOOR).ln(),
        least(|one| one.vote),
        voted * votes / count,
        voted * votes,
        least(|one| one.found),
        f64::from(u8::from(plan.len() == 1)),
        count,
        f64::from(u8::from(same.is_some())),
        f64::from(u8::from(plan == by_clauses)),
        f64::from(u8::from(plan.len() == 1)) * words,
        count * words,
        (count - scene.clauses.len() as f64).abs(),
        order.overlap,
        clauses_met(scene, &seen),
        seen.iter().map(|one| one.fit()).sum(),
        least(Seen::fit),
        clauses_led(scene, &seen),
        seen.iter().map(|one| (1.0 + one.rank as f64).ln()).sum(),
        order.spoken / count,
        seen.iter().map(|one| one.found * one.found).sum(),
        seen.iter().map(|one| one.named).sum(),
        least(|one| one.named),
        unled(&seen),
    ]
}

/// How well the clauses are met by the tools of a plan, each by the best of them.
fn clauses_met(scene: &Scene<'_>, seen: &[&Seen]) -> f64 {
    let fit = |at: usize| seen.iter().map(|one| one.fits[at]).fold(0.0, f64::max);
    let each = scene.clauses.iter().enumerate();
    each.map(|(at, share)| share * fit(at)).sum()
}

/// The share of the clauses whose best tool is in a plan.
fn clauses_led(scene: &Scene<'_>, seen: &[&Seen]) -> f64 {
    let led = |at: usize| seen.iter().any(|one| one.fits[at] >= 1.0);
    let each = scene.clauses.iter().enumerate();
    each.filter(|(at, _)| led(*at))
        .map(|(_, share)| share)
        .sum()
}

/// How many tools need to know which one and have none before them that could tell: one that finds,
/// or one of the same name in part.
fn unled(seen: &[&Seen]) -> f64 {
    let leads = |one: &Seen, to: &Seen| {
        one.stage == 0 || one.name.iter().any(|word| to.name.contains(word))
    };
    let each = seen.iter().enumerate();
    let open =
        each.filter(|(at, one)| one.by_id && !seen[..*at].iter().any(|before| leads(before, one)));
    open.count() as f64
}

/// Which clause speaks most of a tool, from 0 to 1.
fn spoken_at(seen: &Seen) -> Option<f64> {
    let all: f64 = seen.fits.iter().map(|fit| fit.powi(4)).sum();
    let each = seen.fits.iter().enumerate();
    let at: f64 = each.map(|(at, fit)| at as f64 * fit.powi(4)).sum();
    (all > 0.0).then(|| at / all)
}

/// The share of what the wish tells that some tool of a plan answers to.
fn covered(scene: &Scene<'_>, plan: &[Place]) -> f64 {
    let all: f64 = scene.telling.iter().sum();
    let pull = |at: usize| {
        let pulls = plan.iter().map(|place| scene.seen(*place).pulls[at]);
        (pulls.fold(0.0, f64::max) / 1.5).min(1.0)
    };
    let met: f64 = scene
        .telling
        .iter()
        .enumerate()
        .map(|(at, telling)| telling * pull(at))
        .sum();
    met / all.max(f64::MIN_POSITIVE)
}

/// What speaks for an order.
#[derive(Default)]
struct Order {
    follows: f64,
    before: f64,
    clauses: f64,
    spoken: f64,
    stages: f64,
    kin: f64,
    overlap: f64,
}

impl Order {
    fn of(scene: &Scene<'_>, plan: &[Place]) -> Self {
        let mut order = Self::default();
        let mut count = 0.0_f64;
        for (at, one) in plan.iter().enumerate() {
            for (later, other) in plan.iter().enumerate().skip(at + 1) {
                let (one, other) = (scene.seen(*one), scene.seen(*other));
                let numbers = one.number.zip(other.number);
                let (so, otherwise) = numbers.map_or((0, 0), |(a, b)| scene.past.orders(a, b));
                order.before += ((f64::from(so) + 0.5) / (f64::from(so + otherwise) + 1.0)).ln();
                if later == at + 1 {
                    order.follows += numbers
                        .map_or(0.005, |(a, b)| scene.past.follows(a, b))
                        .ln();
                }
                order.clauses += (4.0 * (other.at - one.at)).tanh();
                if let (Some(a), Some(b)) = (spoken_at(one), spoken_at(other)) {
                    order.spoken += (b - a).tanh();
                }
                order.stages += f64::from(
                    i8::from(one.stage < other.stage) - i8::from(one.stage > other.stage),
                );
                let shared = one
                    .name
                    .iter()
                    .filter(|word| other.name.contains(word))
                    .count();
                order.kin += shared as f64 / one.name.len().min(other.name.len()).max(1) as f64;
                order.overlap += overlap(&one.pulls, &other.pulls);
                count += 1.0;
            }
        }
        order.kin /= count.max(1.0);
        order.overlap /= count.max(1.0);
        order
    }
}

/// How far two tools answer to the same words: those that do are likelier one instead of the other than
/// one after the other.
fn overlap(one: &[f64], other: &[f64]) -> f64 {
    let both: f64 = one.iter().zip(other).map(|(a, b)| a.min(*b)).sum();
    let least = one.iter().sum::<f64>().min(other.iter().sum());
    both / least.max(f64::MIN_POSITIVE)
}
