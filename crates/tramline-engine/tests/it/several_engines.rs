//! Several engines over one store, told by chance what to do: they answer from copies that are
//! behind, take runs over, change and end them, and die at any point. Whatever happens, each call
//! that may not be repeated is announced once, leaves at most once, and is in doubt if nobody knows
//! how it ended. Who is told that an answer counts, or that it does not, is told the truth.

mod rules;
mod world;

use proptest::prelude::*;
use world::{Plan, World};

/// How many things happen in one history.
const MOVES_MAX: usize = 40;

/// What one history is made from: its tasks, and numbers that decide what happens.
fn any_plan() -> impl Strategy<Value = Plan> {
    // Few tasks wait for others, so that several questions are open at a time.
    let before = (any::<u8>(), any::<u8>()).prop_map(|(one, other)| one & other);
    let task = (before, prop::bool::weighted(0.7), prop::bool::weighted(0.6));
    (
        prop::collection::vec(task, 2..7),
        prop::collection::vec(any::<u32>(), 4..MOVES_MAX),
        any::<u64>(),
    )
        .prop_map(|(tasks, moves, seed)| Plan { tasks, moves, seed })
}

fn live_through(plan: Plan, claims_are_lost: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut world = World::new(plan, claims_are_lost).await;
        world.live().await;
        world.end().await;
        rules::hold(&world).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn each_call_leaves_at_most_once(plan in any_plan()) {
        live_through(plan, false);
    }

    #[test]
    fn also_where_a_living_process_loses_its_claim(plan in any_plan()) {
        live_through(plan, true);
    }
}
