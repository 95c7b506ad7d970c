//! Reports each cycle of task dependencies.

use crate::workflow_builder::WorkflowBuilder;
use std::collections::HashMap;
use tramline_syntax::FlawCollector;
use tramline_workflow::cycles::closing_edges;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::text::display_name;

/// Most cycles reported: fixing these usually fixes the others.
const CYCLES_REPORTED_MAX: usize = 20;
/// Most tasks named per reported cycle.
const CYCLE_NAMES_MAX: usize = 8;

/// Adds a flaw for each cycle; further checks of the graph's shape would only repeat it.
pub(super) fn check(sketch: &mut WorkflowBuilder<'_>, flaws: &mut FlawCollector) {
    let nodes = &sketch.workflow.nodes;
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        places.entry(node.id.as_str()).or_insert(at);
    }
    let mut outs = vec![Vec::new(); nodes.len()];
    for (at, edge) in sketch.workflow.edges.iter().enumerate() {
        let ends = (places.get(edge.from.as_str()), places.get(edge.to.as_str()));
        if let (Some(&from), Some(&to)) = ends {
            outs[from].push((to, at));
        }
    }
    let mut told = 0;
    closing_edges(&outs, std::iter::empty(), |edge, circle| {
        told += 1;
        if told > CYCLES_REPORTED_MAX {
            return;
        }
        let name = |at: &usize| format!("`{}`", display_name(&nodes[*at].id));
        let mut names: Vec<_> = circle.iter().take(CYCLE_NAMES_MAX).map(name).collect();
        if circle.len() > CYCLE_NAMES_MAX {
            names.push(format!("{} more", circle.len() - CYCLE_NAMES_MAX));
        }
        names.extend(circle.first().map(name));
        flaws.add(
            FlawCode::JoinOnCycle,
            sketch.edge_sources[edge].source_span(),
            format!("these tasks depend on each other: {}", names.join(" → ")),
            format!(
                "remove `{}` here, or another one of these dependencies",
                display_name(&sketch.workflow.edges[edge].from)
            ),
        );
    });
    sketch.is_incomplete |= told > 0;
}
