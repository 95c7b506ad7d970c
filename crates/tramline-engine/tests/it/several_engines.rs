//! Several engines over one store with random operations: they answer from stale caches, take runs
//! over, change and end them, and crash at any point. In every case, each non-repeatable call is
//! recorded once, sent at most once, and in doubt if its result is unknown. A reply that an answer
//! counts, or does not, is true.

mod invariants;
mod simulation;

use proptest::prelude::*;
use simulation::{Simulation, SimulationPlan};

/// Operations in one history.
const MOVES_MAX: usize = 40;

/// The input of one history: its tasks, and numbers that decide what happens.
fn any_plan() -> impl Strategy<Value = SimulationPlan> {
    // Few tasks depend on others, so that several pauses are open at a time.
    let before = (any::<u8>(), any::<u8>()).prop_map(|(one, other)| one & other);
    let task = (before, prop::bool::weighted(0.7), prop::bool::weighted(0.6));
    (
        prop::collection::vec(task, 2..7),
        prop::collection::vec(any::<u32>(), 4..MOVES_MAX),
        any::<u64>(),
    )
        .prop_map(|(tasks, moves, seed)| SimulationPlan { tasks, moves, seed })
}

fn run_history(plan: SimulationPlan, claims_are_lost: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut world = Simulation::new(plan, claims_are_lost).await;
        world.live().await;
        world.end().await;
        invariants::check_invariants(&world).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn each_call_leaves_at_most_once(plan in any_plan()) {
        run_history(plan, false);
    }

    #[test]
    fn also_where_a_living_process_loses_its_claim(plan in any_plan()) {
        run_history(plan, true);
    }
}
