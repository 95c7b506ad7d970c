//! Ways: from the edge of one node through the places kept for it to the edge of another.

use super::layers::{LOOP_WIDTH, Layered};
use super::measure;
use super::place::Places;
use super::{Layout, MARGIN, Placed, Point, Routed};
use crate::picture::{Kind, Picture};

/// The most space between two ways at the edge of a node.
const PORT_GAP: f64 = 22.0;
/// A way past a layer lower than this needs no straight piece.
const LOW: f64 = 24.0;
/// A bend that is so near to where the way would run anyhow is left out: among labels, and where
/// there is nothing to run into.
const BEND_MIN: (f64, f64) = (8.0, 40.0);

pub(super) fn route(picture: &Picture, layered: &Layered, places: &Places) -> Layout {
    let mut draft = Draft {
        picture,
        layered,
        places,
        nodes: Vec::new(),
        outs: vec![Vec::new(); picture.shapes.len()],
        ins: vec![Vec::new(); picture.shapes.len()],
    };
    for (at, shape) in picture.shapes.iter().enumerate() {
        let (width, height) = measure::size(shape);
        let middle = draft.middle(at);
        draft.nodes.push(Placed {
            middle,
            width,
            height,
        });
    }
    draft.ports();
    let links = (0..picture.links.len()).map(|at| draft.way(at)).collect();
    framed(draft.nodes, links)
}

struct Draft<'a> {
    picture: &'a Picture,
    layered: &'a Layered,
    places: &'a Places,
    nodes: Vec<Placed>,
    /// For each node the ways that leave its lower edge, from left to right.
    outs: Vec<Vec<usize>>,
    /// For each node the ways that end at its upper edge, from left to right.
    ins: Vec<Vec<usize>>,
}

impl Draft<'_> {
    fn middle(&self, item: usize) -> Point {
        Point {
            x: self.places.x[item],
            y: self.places.layers[self.layered.items[item].layer].0,
        }
    }

    fn ports(&mut self) {
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

    /// Where a way touches the lower (1) or upper (-1) edge of a node.
    fn port(&self, node: usize, way: usize, down: f64) -> Point {
        let ways = if down > 0.0 {
            &self.outs[node]
        } else {
            &self.ins[node]
        };
        let Placed {
            middle,
            width,
            height,
        } = self.nodes[node];
        let kind = self.picture.shapes[node].kind;
        let room = match kind {
            Kind::Choose => width * 0.5,
            Kind::Entry | Kind::Exit => width - height,
            Kind::Call => width - 24.0,
            Kind::Compute | Kind::Wait => width - 48.0,
        };
        let place = ways.iter().position(|&other| other == way).unwrap_or(0) as f64;
        let gap = PORT_GAP.min(room / ways.len() as f64);
        let aside = (place - (ways.len() as f64 - 1.0) / 2.0) * gap;
        let depth = match kind {
            Kind::Choose => height / 2.0 * (1.0 - aside.abs() / (width / 2.0)),
            Kind::Entry | Kind::Exit | Kind::Call | Kind::Compute | Kind::Wait => height / 2.0,
        };
        Point {
            x: middle.x + aside,
            y: middle.y + down * depth,
        }
    }

    fn way(&self, at: usize) -> Routed {
        let chain = &self.layered.chains[at];
        let (Some(&first), Some(&last)) = (chain.items.first(), chain.items.last()) else {
            return self.back_to_itself(at);
        };
        let mut points = vec![self.port(first, at, 1.0)];
        for around in chain.items.windows(3) {
            let item = around[1];
            let middle = self.middle(item);
            let height = self.places.layers[self.layered.items[item].layer].1;
            if height > LOW {
                // Upright past tall nodes, so as not to cut their corners.
                points.extend([-0.5, 0.5].map(|side| Point {
                    x: middle.x,
                    y: middle.y + side * height,
                }));
            } else if chain.label == Some(item) || self.bends(around) {
                points.push(middle);
            }
        }
        points.push(self.port(last, at, -1.0));
        let label = self.picture.links[at].label.as_deref().map(|text| {
            let (width, height) = measure::label(text);
            let middle = match chain.label {
                Some(item) => self.middle(item),
                None => halfway(&points),
            };
            Placed {
                middle,
                width,
                height,
            }
        });
        if chain.turned {
            points.reverse();
        }
        Routed { points, label }
    }

    /// Whether a way would run elsewhere without this place.
    fn bends(&self, around: &[usize]) -> bool {
        let [before, here, after] = [0, 1, 2].map(|at| self.places.x[around[at]]);
        let layer = self.layered.items[around[1]].layer;
        let free = self.places.layers[layer].1 == 0.0;
        let least = if free { BEND_MIN.1 } else { BEND_MIN.0 };
        ((before + after) / 2.0 - here).abs() > least
    }

    fn back_to_itself(&self, at: usize) -> Routed {
        let link = &self.picture.links[at];
        let Placed {
            middle,
            width,
            height,
        } = self.nodes[link.from];
        let edge = middle.x + width / 2.0;
        let inner = match self.picture.shapes[link.from].kind {
            Kind::Choose => width / 4.0,
            Kind::Compute | Kind::Wait => 10.0,
            Kind::Entry | Kind::Exit | Kind::Call => 2.0,
        };
        let up = height / 4.0;
        let point = |x: f64, y: f64| Point { x, y: middle.y + y };
        let points = vec![
            point(edge - inner, up),
            point(edge + LOOP_WIDTH * 0.6, 0.0),
            point(edge - inner, -up),
        ];
        let label = link.label.as_deref().map(|text| {
            let (width, height) = measure::label(text);
            Placed {
                middle: point(edge + LOOP_WIDTH + width / 2.0, 0.0),
                width,
                height,
            }
        });
        Routed { points, label }
    }
}

fn halfway(points: &[Point]) -> Point {
    match points {
        [first, .., last] => Point {
            x: (first.x + last.x) / 2.0,
            y: (first.y + last.y) / 2.0,
        },
        [only] => *only,
        [] => Point::default(),
    }
}

/// Moves everything to where the picture begins, and measures it.
fn framed(mut nodes: Vec<Placed>, mut links: Vec<Routed>) -> Layout {
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
    Layout {
        width: high.x - low.x + 2.0 * MARGIN,
        height: high.y - low.y + 2.0 * MARGIN,
        nodes,
        links,
    }
}
