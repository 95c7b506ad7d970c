//! Tasks that wait for each other: every such circle is named.

use crate::cycles::closing;
use crate::flaw::Code;
use crate::formats::Flaws;
use crate::formats::sketch::Sketch;
use crate::text::shown;
use std::collections::HashMap;

/// More circles than this are not told: with these mended, most others are.
const TOLD_MAX: usize = 20;
/// Longer circles are cut, in tasks.
const NAMES_MAX: usize = 8;

/// Adds a flaw for each circle; what else the graph's shape says then tells nothing new.
pub(super) fn check(sketch: &mut Sketch<'_>, flaws: &mut Flaws) {
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
    closing(&outs, std::iter::empty(), |edge, circle| {
        told += 1;
        if told > TOLD_MAX {
            return;
        }
        let name = |at: &usize| format!("`{}`", shown(&nodes[*at].id));
        let mut names: Vec<_> = circle.iter().take(NAMES_MAX).map(name).collect();
        if circle.len() > NAMES_MAX {
            names.push(format!("{} more", circle.len() - NAMES_MAX));
        }
        names.extend(circle.first().map(name));
        flaws.add(
            Code::JoinOnCycle,
            sketch.edges[edge].place(),
            format!("these wait for each other: {}", names.join(" → ")),
            "remove one of the dependencies",
        );
    });
    sketch.broken |= told > 0;
}
