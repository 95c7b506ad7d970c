//! Annotations of a graph, derived from the annotations of the tools it calls.

use tramline_engine::ports::{ToolHints, Tools};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::{Action, WORKFLOW_SERVER};

/// Maximum depth of nested workflows that are followed; deeper ones make the annotations unknown.
const DEPTH_MAX: u32 = 16;

/// The annotations of a graph; `None` while one of its tools is unknown, because retracting an annotation would
/// be worse than sending none. `find` returns the graphs that others can call.
pub(crate) fn derive<'g>(
    graph: &'g Graph,
    tools: &dyn Tools,
    find: &dyn Fn(&str) -> Option<&'g Graph>,
) -> Option<ToolHints> {
    derive_nested(graph, tools, find, 0)
}

fn derive_nested<'g>(
    graph: &'g Graph,
    tools: &dyn Tools,
    find: &dyn Fn(&str) -> Option<&'g Graph>,
    depth: u32,
) -> Option<ToolHints> {
    if depth > DEPTH_MAX {
        return None;
    }
    let known = called_tools(graph).map(|name| match name.server.as_str() {
        WORKFLOW_SERVER => derive_nested(find(&name.tool)?, tools, find, depth + 1),
        _ => Some(tools.known(name)?.hints),
    });
    Some(combine(&known.collect::<Option<Vec<_>>>()?))
}

/// The tools that a graph calls, once per call.
fn called_tools(graph: &Graph) -> impl Iterator<Item = &ToolName> {
    graph.workflow.nodes.iter().filter_map(|node| {
        let Action::Call { tool, .. } = &node.action else {
            return None;
        };
        Some(tool)
    })
}

/// Combined annotations of several calls. A missing annotation is treated as the unsafe value.
fn combine(all: &[ToolHints]) -> ToolHints {
    let reads = |hints: &ToolHints| hints.read_only == Some(true);
    ToolHints {
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

    fn hints(said: [Option<bool>; 4]) -> ToolHints {
        let [read_only, destructive, idempotent, open_world] = said;
        ToolHints {
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
            assert_eq!(combine(calls), hints(expected), "{calls:?}");
        }
    }
}
