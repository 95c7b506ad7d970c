//! Routes edges: from the border of one node through its dummy items to the border of another.

use super::positions::Positions;
use super::ranks::{LOOP_WIDTH, RankedDiagram};
use super::{DiagramLayout, LayoutInput, MARGIN, PlacedBox, Point, RoutedEdge};

/// The maximum space between two edges at the border of a node, in pixels.
const PORT_GAP: f64 = 22.0;
/// The height of a rank below which a passing edge needs no straight piece, in pixels.
const LOW: f64 = 24.0;
/// The deviation in pixels below which a bend is omitted: next to labels, and in free space.
const BEND_MIN: (f64, f64) = (8.0, 40.0);

pub(super) fn route_edges(
    picture: &LayoutInput,
    layered: &RankedDiagram,
    places: &Positions,
) -> DiagramLayout {
    let mut draft = EdgeRouter {
        picture,
        layered,
        places,
        nodes: Vec::new(),
        outs: vec![Vec::new(); picture.nodes.len()],
        ins: vec![Vec::new(); picture.nodes.len()],
    };
    for (at, node) in picture.nodes.iter().enumerate() {
        let middle = draft.middle(at);
        draft.nodes.push(PlacedBox {
            middle,
            width: node.width,
            height: node.height,
        });
    }
    draft.assign_ports();
    let links = (0..picture.edges.len())
        .map(|at| draft.route_edge(at))
        .collect();
    fit_to_origin(draft.nodes, links)
}

struct EdgeRouter<'a> {
    picture: &'a LayoutInput,
    layered: &'a RankedDiagram,
    places: &'a Positions,
    nodes: Vec<PlacedBox>,
    /// For each node, the edges that leave its lower border, from left to right.
    outs: Vec<Vec<usize>>,
    /// For each node, the edges that enter its upper border, from left to right.
    ins: Vec<Vec<usize>>,
}

impl EdgeRouter<'_> {
    fn middle(&self, item: usize) -> Point {
        Point {
            x: self.places.x[item],
            y: self.places.ranks[self.layered.items[item].rank].0,
        }
    }

    fn assign_ports(&mut self) {
        for (at, chain) in self.layered.chains.iter().enumerate() {
            if let (Some(&first), Some(&last)) = (chain.items.first(), chain.items.last()) {
                self.outs[first].push(at);
                self.ins[last].push(at);
            }
        }
        let x = &self.places.x;
        let chains = &self.layered.chains;
        for ways in &mut self.outs {
            ways.sort_by(|&a, &b| x[chains[a].items[1]].total_cmp(&x[chains[b].items[1]]));
        }
        let before = |way: usize| chains[way].items[chains[way].items.len() - 2];
        for ways in &mut self.ins {
            ways.sort_by(|&a, &b| x[before(a)].total_cmp(&x[before(b)]));
        }
    }

    /// Where an edge touches the lower (1) or upper (-1) border of a node.
    fn port(&self, node: usize, way: usize, down: f64) -> Point {
        let ways = if down > 0.0 {
            &self.outs[node]
        } else {
            &self.ins[node]
        };
        let PlacedBox {
            middle,
            width,
            height,
        } = self.nodes[node];
        let space = self.picture.nodes[node];
        let place = ways.iter().position(|&other| other == way).unwrap_or(0) as f64;
        let gap = PORT_GAP.min(space.room / ways.len() as f64);
        let aside = (place - (ways.len() as f64 - 1.0) / 2.0) * gap;
        let depth = match space.is_diamond {
            true => height / 2.0 * (1.0 - aside.abs() / (width / 2.0)),
            false => height / 2.0,
        };
        Point {
            x: middle.x + aside,
            y: middle.y + down * depth,
        }
    }

    fn route_edge(&self, at: usize) -> RoutedEdge {
        let chain = &self.layered.chains[at];
        let (Some(&first), Some(&last)) = (chain.items.first(), chain.items.last()) else {
            return self.route_self_loop(at);
        };
        let mut points = vec![self.port(first, at, 1.0)];
        for around in chain.items.windows(3) {
            let item = around[1];
            let middle = self.middle(item);
            let height = self.places.ranks[self.layered.items[item].rank].1;
            if height > LOW {
                // Vertical past tall nodes, so that corners are not cut.
                points.extend([-0.5, 0.5].map(|side| Point {
                    x: middle.x,
                    y: middle.y + side * height,
                }));
            } else if chain.label == Some(item) || self.needs_bend(around) {
                points.push(middle);
            }
        }
        points.push(self.port(last, at, -1.0));
        let label = self.picture.edges[at].label.map(|(width, height)| {
            let middle = match chain.label {
                Some(item) => self.middle(item),
                None => midpoint(&points),
            };
            PlacedBox {
                middle,
                width,
                height,
            }
        });
        if chain.is_reversed {
            points.reverse();
        }
        RoutedEdge { points, label }
    }

    /// Whether the edge would take a different course without this point.
    fn needs_bend(&self, around: &[usize]) -> bool {
        let [before, here, after] = [0, 1, 2].map(|at| self.places.x[around[at]]);
        let layer = self.layered.items[around[1]].rank;
        let free = self.places.ranks[layer].1 == 0.0;
        let least = if free { BEND_MIN.1 } else { BEND_MIN.0 };
        ((before + after) / 2.0 - here).abs() > least
    }

    fn route_self_loop(&self, at: usize) -> RoutedEdge {
        let link = &self.picture.edges[at];
        let PlacedBox {
            middle,
            width,
            height,
        } = self.nodes[link.from];
        let edge = middle.x + width / 2.0;
        let inner = self.picture.nodes[link.from].inset;
        let up = height / 4.0;
        let point = |x: f64, y: f64| Point { x, y: middle.y + y };
        let points = vec![
            point(edge - inner, up),
            point(edge + LOOP_WIDTH * 0.6, 0.0),
            point(edge - inner, -up),
        ];
        let label = link.label.map(|(width, height)| PlacedBox {
            middle: point(edge + LOOP_WIDTH + width / 2.0, 0.0),
            width,
            height,
        });
        RoutedEdge { points, label }
    }
}

fn midpoint(points: &[Point]) -> Point {
    match points {
        [first, .., last] => Point {
            x: (first.x + last.x) / 2.0,
            y: (first.y + last.y) / 2.0,
        },
        [only] => *only,
        [] => Point::default(),
    }
}

/// Shifts everything to the origin and computes the total size.
fn fit_to_origin(mut nodes: Vec<PlacedBox>, mut links: Vec<RoutedEdge>) -> DiagramLayout {
    let labels = links.iter().filter_map(|way| way.label.as_ref());
    let boxes = nodes.iter().chain(labels);
    let boxes = boxes.map(|placed| (placed.middle, placed.width / 2.0, placed.height / 2.0));
    let bends = links.iter().flat_map(|way| &way.points);
    let all = boxes.chain(bends.map(|point| (*point, 0.0, 0.0)));
    let (mut low, mut high) = (Point::default(), Point::default());
    for (at, (middle, aside, down)) in all.enumerate() {
        if at == 0 {
            (low, high) = (middle, middle);
        }
        low.x = low.x.min(middle.x - aside);
        low.y = low.y.min(middle.y - down);
        high.x = high.x.max(middle.x + aside);
        high.y = high.y.max(middle.y + down);
    }
    let shift = |point: &mut Point| {
        point.x += MARGIN - low.x;
        point.y += MARGIN - low.y;
    };
    nodes
        .iter_mut()
        .for_each(|placed| shift(&mut placed.middle));
    for way in &mut links {
        way.points.iter_mut().for_each(shift);
        if let Some(label) = &mut way.label {
            shift(&mut label.middle);
        }
    }
    DiagramLayout {
        width: high.x - low.x + 2.0 * MARGIN,
        height: high.y - low.y + 2.0 * MARGIN,
        nodes,
        edges: links,
    }
}
