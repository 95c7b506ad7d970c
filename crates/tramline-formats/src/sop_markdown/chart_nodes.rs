//! Turns the flowchart into nodes and edges and adds what the file says about each node.

use super::frontmatter::Frontmatter;
use super::group_ends::{GroupEnds, GroupSide};
use super::instructions::NodeSection;
use super::{ChartNodes, NODES_MAX, SopReader};
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;
use tramline_syntax::mermaid::{ArrowHead, Flowchart, NodeShape, Stroke, plain_text};
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::sop::{AnyOf, Sop, SopEdge, SopNode};
use tramline_workflow::text::{display_name, nearest};

/// The hub of a file that does not declare hubs.
const HUB_DEFAULT: &str = "ROUTE";
/// The entry of a file that does not declare one.
const ENTRY_DEFAULT: &str = "START";

impl SopReader<'_> {
    /// Reads nodes and edges from the flowchart. A subgraph is not a node: an edge into it leads to its first
    /// node, and an edge out of it starts at its last one.
    pub(super) fn read_chart(&mut self, chart: &Flowchart, sop: &mut Sop) -> Option<ChartNodes> {
        let groups: HashSet<&Str> = chart
            .subgraphs
            .iter()
            .filter_map(|it| it.id.as_ref())
            .collect();
        let mut drawn = ChartNodes {
            node_of: vec![None; chart.vertices.len()],
            spans: Vec::new(),
            links: Vec::new(),
        };
        for (place, vertex) in chart.vertices.iter().enumerate() {
            if groups.contains(&vertex.id) {
                continue;
            }
            if sop.nodes.len() >= NODES_MAX {
                let place = self.lines.source_span(vertex.span.start..vertex.span.end);
                let message = format!("more than {NODES_MAX} nodes");
                self.flaws
                    .add(FlawCode::TooMany, place, message, "split the procedure");
                return None;
            }
            drawn.node_of[place] = Some(sop.nodes.len());
            drawn.spans.push(vertex.span);
            let description = vertex.label.as_ref().map(plain_text);
            let description = description.filter(|it| !it.is_empty());
            let description: Str = description.map_or(vertex.id.clone(), Into::into);
            sop.nodes.push(SopNode {
                id: vertex.id.clone(),
                shape: vertex
                    .shape
                    .unwrap_or(NodeShape::RECTANGLE)
                    .display_name()
                    .into(),
                tools: tools_in_label(&description),
                description,
                ..SopNode::default()
            });
        }
        self.read_edges(chart, &mut drawn, sop);
        Some(drawn)
    }

    fn read_edges(&mut self, chart: &Flowchart, drawn: &mut ChartNodes, sop: &mut Sop) {
        let mut seen = HashSet::new();
        let mut groups = GroupEnds::default();
        for (at, link) in chart.links.iter().enumerate() {
            if link.stroke == Stroke::Invisible {
                continue;
            }
            let mut end = |vertex: usize, side: GroupSide| match drawn.node_of[vertex] {
                Some(node) => Ok(node),
                None => groups.node(chart, &drawn.node_of, vertex, side),
            };
            let ends = end(link.from, GroupSide::Last)
                .and_then(|from| Ok((from, end(link.to, GroupSide::First)?)));
            let (from, to) = match ends {
                Ok(ends) => ends,
                Err(message) => {
                    let place = self.lines.source_span(link.span.start..link.span.end);
                    let hint = "connect one of the nodes inside it";
                    self.flaws.add(FlawCode::Unsupported, place, message, hint);
                    continue;
                }
            };
            let condition = link
                .label
                .as_ref()
                .map(plain_text)
                .filter(|it| !it.is_empty());
            let condition: Option<Str> = condition.map(Into::into);
            let backwards = link.tail == ArrowHead::Arrow;
            let forwards = !backwards || link.head != ArrowHead::None;
            for (is_drawn, from, to) in [(forwards, from, to), (backwards, to, from)] {
                if is_drawn && seen.insert((from, to, condition.clone())) {
                    drawn.links.push(at);
                    sop.edges.push(SopEdge {
                        from: NodeIx(from as u32),
                        to: NodeIx(to as u32),
                        condition: condition.clone(),
                        guard: None,
                    });
                }
            }
        }
    }

    /// Adds the instructions and settings of each node.
    pub(super) fn apply_settings(
        &mut self,
        all: Vec<NodeSection>,
        drawn: &ChartNodes,
        sop: &mut Sop,
    ) {
        let ids: HashMap<Str, usize> = sop.nodes.iter().map(|it| it.id.clone()).zip(0..).collect();
        let mut ways: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, edge) in sop.edges.iter().enumerate() {
            ways.entry(edge.from.0).or_default().push(at);
        }
        let mut seen = HashSet::new();
        let lists_tools = !sop.tools.is_empty();
        for given in all {
            let Some(place) = ids.get(given.id.as_str()).copied() else {
                self.report_stray_section(&given, sop);
                continue;
            };
            if !seen.insert(place) {
                self.report_duplicate(&given);
                continue;
            }
            if lists_tools {
                self.report_unlisted_tools(&given, sop);
            }
            let ways = ways.get(&(place as u32)).map_or(&[][..], Vec::as_slice);
            self.apply_guards(&given, ways, sop);
            let node = &mut sop.nodes[place];
            let said = given.settings;
            if !said.tools.is_empty() {
                node.tools = said.tools.into_iter().map(|(name, _)| name).collect();
            }
            let any_of = |group: Vec<(Str, _)>| AnyOf(group.into_iter().map(|it| it.0).collect());
            node.must_call = said.must_call.into_iter().map(any_of).collect();
            node.prompt = said.prompt;
            node.section = true;
            node.examples = said.examples;
            node.slots = said.slots;
            node.confirm = said.confirm;
            let free = &sop.anywhere;
            let own = node.tools.iter().filter(|it| !free.contains(it));
            let own: Vec<Str> = own.cloned().collect();
            if own.is_empty() && said.rules.has_unkeyed() {
                let message = format!(
                    "the rules of `{}` apply to no tool: it lists none that writes",
                    given.id
                );
                let hint = "name the tool: `args: {TOOL: …}`";
                self.flaws
                    .add(FlawCode::MissingField, given.place.clone(), message, hint);
            }
            node.rules = said.rules.for_tools(own);
            node.lookups = said.rules.lookups;
            node.visits_max = said.visits_max;
            node.hub = said.hub;
            node.procedure = said.procedure;
        }
        debug_assert_eq!(drawn.spans.len(), sop.nodes.len());
    }

    fn report_stray_section(&mut self, given: &NodeSection, sop: &Sop) {
        let hint = match nearest(&given.id, sop.nodes.iter().map(|it| it.id.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add the node, or remove the section".to_owned(),
        };
        let message = format!(
            "instructions for `{}`, which is not in the flowchart",
            display_name(&given.id)
        );
        self.flaws.add(
            FlawCode::StrayInstructions,
            given.place.clone(),
            message,
            hint,
        );
    }

    fn report_unlisted_tools(&mut self, given: &NodeSection, sop: &Sop) {
        for (tool, place) in given
            .settings
            .tools
            .iter()
            .chain(given.settings.must_call.iter().flatten())
        {
            if sop.tools.contains(tool) || sop.anywhere.contains(tool) {
                continue;
            }
            let hint = match nearest(tool, sop.tools.iter().map(Str::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "add it to `tools` in the frontmatter".to_owned(),
            };
            let message = format!(
                "`{}` names the tool `{}`, which is not listed",
                given.id,
                display_name(tool)
            );
            self.flaws
                .add(FlawCode::UnlistedTool, place.clone(), message, hint);
        }
    }

    /// Adds guards to the edges they refer to, by target node or by label.
    fn apply_guards(&mut self, given: &NodeSection, ways: &[usize], sop: &mut Sop) {
        for guard in &given.settings.guards {
            let (key, place) = (&guard.target, &guard.target_span);
            let mut fits = false;
            for way in ways {
                let to = sop.edges[*way].to.index();
                let edge = &mut sop.edges[*way];
                if sop.nodes[to].id == *key || edge.condition.as_ref() == Some(key) {
                    edge.guard = Some(guard.condition.clone());
                    fits = true;
                }
            }
            if !fits {
                let known: Vec<&str> = ways
                    .iter()
                    .map(|way| sop.nodes[sop.edges[*way].to.index()].id.as_str())
                    .collect();
                let hint = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("edges lead to {}", known.join(", ")),
                };
                let message = format!("`{}` has no edge to `{}`", given.id, display_name(key));
                self.flaws
                    .add(FlawCode::UnknownNode, place.clone(), message, hint);
            }
        }
    }

    /// Resolves the entry, hubs and visit limits.
    pub(super) fn resolve_globals(
        &mut self,
        front: &Frontmatter,
        drawn: &ChartNodes,
        sop: &mut Sop,
    ) {
        self.resolve_entry(front, drawn, sop);
        sop.rules = front.rules.for_tools(Vec::new());
        sop.lookups.clone_from(&front.rules.lookups);
        if let Some(most) = front.visits_max {
            let open = sop.nodes.iter_mut().filter(|it| it.visits_max.is_none());
            open.for_each(|node| node.visits_max = Some(most));
        }
        let Some(hubs) = &front.hubs else {
            let route = sop.nodes.iter_mut().find(|it| it.id == HUB_DEFAULT);
            route.into_iter().for_each(|node| node.hub = true);
            return;
        };
        for (id, place) in hubs {
            match sop.find(id) {
                Some(node) => sop.nodes[node.index()].hub = true,
                None => self.report_unknown_node(id, place, sop, "hubs"),
            }
        }
    }

    fn report_unknown_node(
        &mut self,
        id: &str,
        place: &tramline_workflow::flaw::SourceSpan,
        sop: &Sop,
        field: &str,
    ) {
        let hint = match nearest(id, sop.nodes.iter().map(|it| it.id.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a node of the flowchart".to_owned(),
        };
        let message = format!(
            "`{field}` names `{}`, which is not in the flowchart",
            display_name(id)
        );
        self.flaws
            .add(FlawCode::UnknownNode, place.clone(), message, hint);
    }

    fn resolve_entry(&mut self, front: &Frontmatter, drawn: &ChartNodes, sop: &mut Sop) {
        if let Some((id, place)) = &front.entry {
            match sop.find(id) {
                Some(node) => sop.entry = node,
                None => self.report_unknown_node(id, place, sop, "entry_node"),
            }
            return;
        }
        if let Some(node) = sop.find(ENTRY_DEFAULT) {
            sop.entry = node;
            return;
        }
        let entered: HashSet<u32> = sop
            .edges
            .iter()
            .filter(|it| it.from != it.to)
            .map(|it| it.to.0)
            .collect();
        let mut sources = (0..sop.nodes.len() as u32).filter(|at| !entered.contains(at));
        match (sources.next(), sources.next()) {
            (Some(only), None) => sop.entry = NodeIx(only),
            (first, _) => {
                let spot = drawn
                    .spans
                    .get(first.unwrap_or(0) as usize)
                    .copied()
                    .unwrap_or_default();
                let message = match first {
                    Some(_) => "the entry is ambiguous: several nodes have no incoming edges",
                    None => "there is no entry: every node has incoming edges",
                };
                let place = self.lines.source_span(spot.start..spot.end);
                let hint = "name one START, or set `entry_node:` in the frontmatter";
                self.flaws.add(FlawCode::NoEntry, place, message, hint);
            }
        }
    }
}

/// The tools listed in a label: `TOOLS: a, b`.
fn tools_in_label(description: &str) -> Vec<Str> {
    let Some((_, list)) = description.split_once("TOOLS:") else {
        return Vec::new();
    };
    let plain = |name: &&str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        !name.is_empty() && name.chars().all(fits)
    };
    let names = list.split(',').map(|it| it.trim().trim_end_matches('.'));
    names.take_while(plain).map(Into::into).collect()
}
