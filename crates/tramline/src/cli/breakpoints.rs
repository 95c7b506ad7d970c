//! Breakpoints on the command line: `NODE`, or `NODE:CONDITION`.

use tramline_expr::Value;
use tramline_workflow::graph::Graph;
use tramline_workflow::journal::{BreakpointSet, NodeBreakpoint};

/// Where a run halts.
#[derive(clap::Args, Clone, Default)]
pub(super) struct BreakpointArgs {
    /// Halt before this node; with a condition (JSONata, or a JSON Logic rule) only when it holds
    #[arg(long = "break", value_name = "NODE[:CONDITION]")]
    breaks: Vec<String>,
    /// Halt before every step
    #[arg(long)]
    step: bool,
}

impl BreakpointArgs {
    /// Whether no breakpoint was given.
    pub(super) fn is_empty(&self) -> bool {
        self.breaks.is_empty() && !self.step
    }

    /// The breakpoints for a run of this graph.
    pub(super) fn to_watch(&self, graph: &Graph) -> BreakpointSet {
        BreakpointSet {
            breaks: self
                .breaks
                .iter()
                .map(|text| parse_breakpoint(graph, text))
                .collect(),
            stepping: self.step,
        }
    }
}

/// Parses `NODE[:CONDITION]`. Node ids may contain colons, so the shortest prefix that is a node wins.
fn parse_breakpoint(graph: &Graph, text: &str) -> NodeBreakpoint {
    let is_node = |id: &str| graph.find(id).is_some();
    let cuts = text.char_indices().filter(|(_, sign)| *sign == ':');
    let mut cuts = cuts.map(|(at, _)| (&text[..at], &text[at + 1..]));
    let cut = if is_node(text) {
        (text, "")
    } else {
        let first = text.split_once(':').unwrap_or((text, ""));
        cuts.find(|(id, _)| is_node(id)).unwrap_or(first)
    };
    NodeBreakpoint::new(cut.0, parse_condition(cut.1))
}

/// A condition: a JSON object is a rule, anything else is JSONata.
pub(super) fn parse_condition(text: &str) -> Option<Value> {
    match Value::from_json(text) {
        _ if text.trim().is_empty() => None,
        Ok(rule @ Value::Object(_)) => Some(rule),
        Ok(_) | Err(_) => Some(text.trim().into()),
    }
}

/// One line for each breakpoint.
pub(super) fn render(watch: &BreakpointSet) -> Vec<String> {
    let spot = |spot: &NodeBreakpoint| match &spot.condition {
        None => spot.node.to_string(),
        Some(Value::String(source)) => format!("{} if {source}", spot.node),
        Some(rule) => format!("{} if {rule}", spot.node),
    };
    let mut lines: Vec<_> = watch.breaks.iter().map(spot).collect();
    if watch.stepping {
        lines.push("every step".to_owned());
    }
    if lines.is_empty() {
        lines.push("no breakpoints".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tramline_formats::yaml_graph;

    fn graph() -> Arc<Graph> {
        let text = "version: '1'\nserver: {name: s, version: '1'}\ntools:\n  - name: t\n    \
            description: d\n    inputSchema: {type: object}\n    nodes:\n      \
            - {id: entry, type: entry, next: 'a:b'}\n      \
            - {id: 'a:b', type: transform, transform: {expr: '1'}, next: exit}\n      \
            - {id: exit, type: exit}\n";
        yaml_graph::read(text.as_bytes())
            .unwrap()
            .workflows
            .remove(0)
    }

    #[test]
    fn conditions_follow_the_node_whatever_its_name_holds() {
        let graph = graph();
        for (text, node, condition) in [
            ("exit", "exit", None),
            ("a:b", "a:b", None),
            ("a:b:x = 'y:z'", "a:b", Some("\"x = 'y:z'\"")),
            ("exit:{\"==\":[1,1]}", "exit", Some("{\"==\":[1,1]}")),
            ("exit: ", "exit", None),
            ("nowhere:1", "nowhere", Some("\"1\"")),
        ] {
            let spot = parse_breakpoint(&graph, text);
            assert_eq!(spot.node, node);
            let said = spot.condition.map(|condition| condition.to_json());
            assert_eq!(said.as_deref(), condition, "{text}");
        }
    }
}
