//! What calling a graph does to the world, as far as the tools it calls say of themselves.

use tramline_core::graph::Graph;
use tramline_core::ids::ToolName;
use tramline_core::workflow::{Action, WORKFLOW_SERVER};
use tramline_engine::seams::{Hints, Tools};

/// Workflows that call workflows are looked into so deep; what lies deeper stays unknown.
const DEPTH_MAX: u32 = 16;

/// The hints of a graph, or nothing as long as one of its tools is unknown: a claim that was
/// taken back would be worse than none. `find` gives the graphs that others can call.
pub(super) fn of<'g>(
    graph: &'g Graph,
    tools: &dyn Tools,
    find: &dyn Fn(&str) -> Option<&'g Graph>,
) -> Option<Hints> {
    within(graph, tools, find, 0)
}

fn within<'g>(
    graph: &'g Graph,
    tools: &dyn Tools,
    find: &dyn Fn(&str) -> Option<&'g Graph>,
    depth: u32,
) -> Option<Hints> {
    if depth > DEPTH_MAX {
        return None;
    }
    let known = called(graph).map(|name| match name.server.as_str() {
        WORKFLOW_SERVER => within(find(&name.tool)?, tools, find, depth + 1),
        _ => Some(tools.known(name)?.hints),
    });
    Some(together(&known.collect::<Option<Vec<_>>>()?))
}

/// The tools that a graph calls, each time it does.
fn called(graph: &Graph) -> impl Iterator<Item = &ToolName> {
    graph.workflow.nodes.iter().filter_map(|node| {
        let Action::Call { tool, .. } = &node.action else {
            return None;
        };
        Some(tool)
    })
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
