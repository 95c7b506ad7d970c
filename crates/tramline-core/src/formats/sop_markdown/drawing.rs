//! From the drawing to nodes and edges, and what the file says of each node added to it.

use super::front::Front;
use super::prompts::Given;
use super::{Drawn, NODES_MAX, Reader};
use crate::flaw::Code;
use crate::formats::mermaid::{Flowchart, Head, Shape, Stroke, plain};
use crate::ids::NodeIx;
use crate::sop::{AnyOf, Edge, Node, Sop};
use crate::text::{nearest, shown};
use std::collections::{HashMap, HashSet};
use tramline_expr::Str;

/// The hub of a file that names none.
const HUB: &str = "ROUTE";
/// The entry of a file that names none.
const ENTRY: &str = "START";

impl Reader<'_> {
    /// The nodes and edges of the drawing. A group is no node, and nothing may lead to one.
    pub(super) fn draw(&mut self, chart: &Flowchart, sop: &mut Sop) -> Option<Drawn> {
        let groups: HashSet<&Str> = chart
            .groups
            .iter()
            .filter_map(|it| it.id.as_ref())
            .collect();
        let mut drawn = Drawn {
            node_of: vec![None; chart.vertices.len()],
            spots: Vec::new(),
            links: Vec::new(),
        };
        for (place, vertex) in chart.vertices.iter().enumerate() {
            if groups.contains(&vertex.id) {
                continue;
            }
            if sop.nodes.len() >= NODES_MAX {
                let place = self.lines.place(vertex.spot.start..vertex.spot.end);
                let message = format!("more than the {NODES_MAX} nodes allowed");
                self.flaws
                    .add(Code::TooMany, place, message, "split the procedure");
                return None;
            }
            drawn.node_of[place] = Some(sop.nodes.len());
            drawn.spots.push(vertex.spot);
            let description = vertex.caption.as_ref().map(plain);
            let description = description.filter(|it| !it.is_empty());
            let description: Str = description.map_or(vertex.id.clone(), Into::into);
            sop.nodes.push(Node {
                id: vertex.id.clone(),
                shape: vertex.shape.unwrap_or(Shape::RECTANGLE).word().into(),
                tools: hinted(&description),
                description,
                ..Node::default()
            });
        }
        self.edges(chart, &mut drawn, sop);
        Some(drawn)
    }

    fn edges(&mut self, chart: &Flowchart, drawn: &mut Drawn, sop: &mut Sop) {
        let mut seen = HashSet::new();
        for (at, link) in chart.links.iter().enumerate() {
            if link.stroke == Stroke::Invisible {
                continue;
            }
            let ends = (drawn.node_of[link.from], drawn.node_of[link.to]);
            let (Some(from), Some(to)) = ends else {
                let place = self.lines.place(link.spot.start..link.spot.end);
                let hint = "lead to one of the nodes inside it";
                self.flaws.add(
                    Code::Unsupported,
                    place,
                    "a way from or to a whole group",
                    hint,
                );
                continue;
            };
            let condition = link.caption.as_ref().map(plain).filter(|it| !it.is_empty());
            let condition: Option<Str> = condition.map(Into::into);
            let backwards = link.tail == Head::Arrow;
            let forwards = !backwards || link.head != Head::None;
            for (is_drawn, from, to) in [(forwards, from, to), (backwards, to, from)] {
                if is_drawn && seen.insert((from, to, condition.clone())) {
                    drawn.links.push(at);
                    sop.edges.push(Edge {
                        from: NodeIx(from as u32),
                        to: NodeIx(to as u32),
                        condition: condition.clone(),
                        guard: None,
                    });
                }
            }
        }
    }

    /// Adds what the file says of its nodes.
    pub(super) fn give(&mut self, all: Vec<Given>, drawn: &Drawn, sop: &mut Sop) {
        let ids: HashMap<Str, usize> = sop.nodes.iter().map(|it| it.id.clone()).zip(0..).collect();
        let mut ways: HashMap<u32, Vec<usize>> = HashMap::new();
        for (at, edge) in sop.edges.iter().enumerate() {
            ways.entry(edge.from.0).or_default().push(at);
        }
        let mut seen = HashSet::new();
        let lists_tools = !sop.tools.is_empty();
        for given in all {
            let Some(place) = ids.get(given.id.as_str()).copied() else {
                self.stray(&given, sop);
                continue;
            };
            if !seen.insert(place) {
                self.twice(&given);
                continue;
            }
            if lists_tools {
                self.unlisted(&given, sop);
            }
            let ways = ways.get(&(place as u32)).map_or(&[][..], Vec::as_slice);
            self.guard(&given, ways, sop);
            let node = &mut sop.nodes[place];
            let said = given.said;
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
            node.rules = said.rules.about(own.cloned().collect());
            node.lookups = said.rules.lookups;
            node.visits_max = said.visits_max;
            node.hub = said.hub;
            node.procedure = said.procedure;
        }
        debug_assert_eq!(drawn.spots.len(), sop.nodes.len());
    }

    fn stray(&mut self, given: &Given, sop: &Sop) {
        let hint = match nearest(&given.id, sop.nodes.iter().map(|it| it.id.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "draw the node, or remove the section".to_owned(),
        };
        let message = format!(
            "instructions for `{}`, which is not drawn",
            shown(&given.id)
        );
        self.flaws
            .add(Code::Stray, given.place.clone(), message, hint);
    }

    fn unlisted(&mut self, given: &Given, sop: &Sop) {
        for (tool, place) in given
            .said
            .tools
            .iter()
            .chain(given.said.must_call.iter().flatten())
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
                shown(tool)
            );
            self.flaws.add(Code::Unlisted, place.clone(), message, hint);
        }
    }

    /// Puts guards on the ways that they name, by the node or by the label.
    fn guard(&mut self, given: &Given, ways: &[usize], sop: &mut Sop) {
        for (key, guard, place) in &given.said.guards {
            let mut fits = false;
            for way in ways {
                let to = sop.edges[*way].to.at();
                let edge = &mut sop.edges[*way];
                if sop.nodes[to].id == *key || edge.condition.as_ref() == Some(key) {
                    edge.guard = Some(guard.clone());
                    fits = true;
                }
            }
            if !fits {
                let known: Vec<&str> = ways
                    .iter()
                    .map(|way| sop.nodes[sop.edges[*way].to.at()].id.as_str())
                    .collect();
                let hint = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("ways lead to {}", known.join(", ")),
                };
                let message = format!("no way from `{}` leads to `{}`", given.id, shown(key));
                self.flaws
                    .add(Code::UnknownNode, place.clone(), message, hint);
            }
        }
    }

    /// Settles what depends on the whole: the entry, hubs, limits.
    pub(super) fn settle(&mut self, front: &Front, drawn: &Drawn, sop: &mut Sop) {
        self.entry(front, drawn, sop);
        sop.rules = front.rules.about(Vec::new());
        sop.lookups.clone_from(&front.rules.lookups);
        if let Some(most) = front.visits_max {
            let open = sop.nodes.iter_mut().filter(|it| it.visits_max.is_none());
            open.for_each(|node| node.visits_max = Some(most));
        }
        let Some(hubs) = &front.hubs else {
            let route = sop.nodes.iter_mut().find(|it| it.id == HUB);
            route.into_iter().for_each(|node| node.hub = true);
            return;
        };
        for (id, place) in hubs {
            match sop.find(id) {
                Some(node) => sop.nodes[node.at()].hub = true,
                None => self.no_node(id, place, sop, "hubs"),
            }
        }
    }

    fn no_node(&mut self, id: &str, place: &crate::flaw::Place, sop: &Sop, field: &str) {
        let hint = match nearest(id, sop.nodes.iter().map(|it| it.id.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a node of the drawing".to_owned(),
        };
        let message = format!("`{field}` names `{}`, which is not drawn", shown(id));
        self.flaws
            .add(Code::UnknownNode, place.clone(), message, hint);
    }

    fn entry(&mut self, front: &Front, drawn: &Drawn, sop: &mut Sop) {
        if let Some((id, place)) = &front.entry {
            match sop.find(id) {
                Some(node) => sop.entry = node,
                None => self.no_node(id, place, sop, "entry_node"),
            }
            return;
        }
        if let Some(node) = sop.find(ENTRY) {
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
                    .spots
                    .get(first.unwrap_or(0) as usize)
                    .copied()
                    .unwrap_or_default();
                let message = match first {
                    Some(_) => "several nodes could be the entry: nothing leads to them",
                    None => "no node could be the entry: something leads to each",
                };
                let place = self.lines.place(spot.start..spot.end);
                let hint = "call one START, or say `entry_node:` in the frontmatter";
                self.flaws.add(Code::NoEntry, place, message, hint);
            }
        }
    }
}

/// The tools that a caption names: `TOOLS: a, b`.
fn hinted(description: &str) -> Vec<Str> {
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
