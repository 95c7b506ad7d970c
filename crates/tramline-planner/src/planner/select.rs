//! Selects the candidate plan with the largest expected overlap with all candidates.
//!
//! If one plan is far more likely than the others, it is selected. Otherwise a plan that shares tools with many
//! candidates is partly right more often than the most likely plan is entirely right.

/// Number of most likely plans that are compared.
const COMPARED_PLANS_MAX: usize = 100;
/// Weight of an identical plan.
const EXACT_WEIGHT: f64 = 1.0;
/// Weight of an identical plan if precedents vote: then complete plans are known.
const EXACT_VOTED_WEIGHT: f64 = 2.0;
/// Weight of shared tools.
const TOOLS_WEIGHT: f64 = 1.0;
/// Weight of shared pairs of neighbours.
const PAIRS_WEIGHT: f64 = 1.0;

/// The index of the plan with the largest expected overlap. `plans` holds plans with their shares, most likely first.
/// If precedents voted, an identical plan counts more.
pub fn select_plan<T: PartialEq>(plans: &[(&[T], f64)], voted: bool) -> Option<usize> {
    let exact = if voted {
        EXACT_VOTED_WEIGHT
    } else {
        EXACT_WEIGHT
    };
    let plans = &plans[..plans.len().min(COMPARED_PLANS_MAX)];
    let worth = |one: &[T]| -> f64 {
        let each = plans.iter();
        each.map(|(other, share)| share * plan_overlap(one, other, exact))
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

fn plan_overlap<T: PartialEq>(one: &[T], other: &[T], exact: f64) -> f64 {
    if one == other {
        return exact + TOOLS_WEIGHT + PAIRS_WEIGHT;
    }
    let shared = one.iter().filter(|tool| other.contains(tool)).count();
    let nodes = 2.0 * shared as f64 / (one.len() + other.len()).max(1) as f64;
    let pairs = one.windows(2);
    let linked = pairs.filter(|pair| other.windows(2).any(|known| known == *pair));
    let all = (one.len() + other.len()).saturating_sub(2).max(1);
    TOOLS_WEIGHT * nodes + PAIRS_WEIGHT * 2.0 * linked.count() as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likely_plan_is_taken_and_a_doubtful_one_gives_way_to_what_many_share() {
        let sure: [(&[u8], f64); 3] = [(&[1], 0.9), (&[2, 3], 0.05), (&[3, 2], 0.05)];
        assert_eq!(select_plan(&sure, false), Some(0));
        let open: [(&[u8], f64); 4] = [
            (&[9], 0.28),
            (&[1, 2], 0.24),
            (&[1, 2, 3], 0.24),
            (&[1, 2, 4], 0.24),
        ];
        assert_eq!(select_plan(&open, false), Some(1));
        assert_eq!(select_plan::<u8>(&[], false), None);
    }
}
