//! Which of the plans that may be meant is taken: the one that comes nearest to all of them.
//!
//! Where one plan is far likelier than the others, it is that one. Where none is, a plan that shares
//! tools with many of them is right in part more often than the likeliest is right as a whole.

/// So many of the likeliest plans are looked at.
const LOOKED_AT: usize = 100;
/// What a plan that is the very same counts.
const EXACT: f64 = 1.0;
/// The same where the past has voted: then whole plans are known.
const EXACT_VOTED: f64 = 2.0;
/// What tools in common count.
const NODES: f64 = 1.0;
/// What pairs of neighbours in common count.
const EDGES: f64 = 1.0;

/// The place of the plan that comes nearest to all, of plans with their shares, the likeliest first.
/// Whether the past has voted for some of them makes a plan that is right as a whole worth more.
pub fn choose<T: PartialEq>(plans: &[(&[T], f64)], voted: bool) -> Option<usize> {
    let exact = if voted { EXACT_VOTED } else { EXACT };
    let plans = &plans[..plans.len().min(LOOKED_AT)];
    let worth = |one: &[T]| -> f64 {
        let each = plans.iter();
        each.map(|(other, share)| share * nearness(one, other, exact))
            .sum()
    };
    let mut best: Option<(usize, f64)> = None;
    for (at, (plan, _)) in plans.iter().enumerate() {
        let worth = worth(plan);
        if best.is_none_or(|(_, most)| worth > most) {
            best = Some((at, worth));
        }
    }
    best.map(|(at, _)| at)
}

fn nearness<T: PartialEq>(one: &[T], other: &[T], exact: f64) -> f64 {
    if one == other {
        return exact + NODES + EDGES;
    }
    let shared = one.iter().filter(|tool| other.contains(tool)).count();
    let nodes = 2.0 * shared as f64 / (one.len() + other.len()).max(1) as f64;
    let pairs = one.windows(2);
    let linked = pairs.filter(|pair| other.windows(2).any(|known| known == *pair));
    let all = (one.len() + other.len()).saturating_sub(2).max(1);
    NODES * nodes + EDGES * 2.0 * linked.count() as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likely_plan_is_taken_and_a_doubtful_one_gives_way_to_what_many_share() {
        let sure: [(&[u8], f64); 3] = [(&[1], 0.9), (&[2, 3], 0.05), (&[3, 2], 0.05)];
        assert_eq!(choose(&sure, false), Some(0));
        let open: [(&[u8], f64); 4] = [
            (&[9], 0.28),
            (&[1, 2], 0.24),
            (&[1, 2, 3], 0.24),
            (&[1, 2, 4], 0.24),
        ];
        assert_eq!(choose(&open, false), Some(1));
        assert_eq!(choose::<u8>(&[], false), None);
    }
}
