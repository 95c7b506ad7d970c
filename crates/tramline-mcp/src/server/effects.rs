//! What calling a graph does to the world, as far as the tools it calls say of themselves.

use tramline_core::graph::Graph;
use tramline_core::ids::ToolName;
use tramline_core::workflow::Action;
use tramline_engine::seams::{Hints, Tools};

/// The tools that a graph calls, each time it does.
pub(super) fn called(graph: &Graph) -> impl Iterator<Item = &ToolName> {
    graph.workflow.nodes.iter().filter_map(|node| {
        let Action::Call { tool, .. } = &node.action else {
            return None;
        };
        Some(tool)
    })
}

/// The hints of a graph, or nothing as long as one of its tools is unknown: a claim that was
/// taken back would be worse than none.
pub(super) fn of(graph: &Graph, tools: &dyn Tools) -> Option<Hints> {
    let known = called(graph).map(|name| Some(tools.known(name)?.hints));
    Some(together(&known.collect::<Option<Vec<_>>>()?))
}

/// What several calls do when taken as one. What a tool leaves unsaid is the worst.
fn together(all: &[Hints]) -> Hints {
    let reads = |hints: &Hints| hints.read_only == Some(true);
    Hints {
        read_only: Some(all.iter().all(reads)),
        destructive: Some(
            all.iter()
                .any(|hints| !reads(hints) && hints.destructive != Some(false)),
        ),
        idempotent: Some(all.iter().all(|hints| hints.repeatable())),
        open_world: Some(all.iter().any(|hints| hints.open_world != Some(false))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(said: [Option<bool>; 4]) -> Hints {
        let [read_only, destructive, idempotent, open_world] = said;
        Hints {
            read_only,
            destructive,
            idempotent,
            open_world,
        }
    }

    #[test]
    fn the_worst_of_all_calls_is_claimed() {
        let (yes, no) = (Some(true), Some(false));
        let looks = hints([yes, None, None, no]);
        let adds = hints([no, no, None, no]);
        let sets = hints([None, no, yes, yes]);
        let silent = hints([None; 4]);
        for (calls, expected) in [
            (&[][..], [yes, no, yes, no]),
            (&[looks], [yes, no, yes, no]),
            (&[looks, adds], [no, no, no, no]),
            (&[looks, sets], [no, no, yes, yes]),
            (&[silent], [no, yes, no, yes]),
            (&[looks, silent], [no, yes, no, yes]),
        ] {
            assert_eq!(together(calls), hints(expected), "{calls:?}");
        }
    }
}
