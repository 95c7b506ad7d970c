//! Where everything stands in a picture: layers from top to bottom, few crossings, curved ways.
//!
//! The usual four steps of a layered drawing, each in its file: into layers, order within the
//! layers, places, ways.

use super::Picture;
use std::fmt;

mod layers;
mod measure;
mod order;
mod place;
mod route;

pub(super) use measure::{DETAIL_SIZE, LABEL_SIZE, LINE_HEIGHT, TITLE_SIZE, lines};

/// More nodes than this are not drawn: nobody finds anything in such a picture.
const NODES_MAX: usize = 5_000;
/// More ways than this are not drawn.
const LINKS_MAX: usize = 20_000;
/// The space around the whole picture, in pixels.
const MARGIN: f64 = 24.0;

/// A point of a picture, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Placed {
    /// Its middle.
    pub middle: Point,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

/// Where a way runs: through these points, upright in each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routed {
    /// From the node it leaves to the node it enters.
    pub points: Vec<Point>,
    /// Where its label stands, with its width and height.
    pub label: Option<Placed>,
}

/// Where everything stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// How wide the picture is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// The nodes, in the picture's order.
    pub nodes: Vec<Placed>,
    /// The ways, in the picture's order.
    pub links: Vec<Routed>,
}

/// A picture that is too large to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    nodes: usize,
    links: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} nodes and {} ways are more than the {NODES_MAX} and {LINKS_MAX} that are drawn; \
             --mermaid and --dot have no such bound",
            self.nodes, self.links
        )
    }
}

impl std::error::Error for TooLarge {}

/// Works out where everything stands.
pub fn layout(picture: &Picture) -> Result<Layout, TooLarge> {
    let (nodes, links) = (picture.shapes.len(), picture.links.len());
    if nodes > NODES_MAX || links > LINKS_MAX {
        return Err(TooLarge { nodes, links });
    }
    let mut layered = layers::into_layers(picture);
    order::order(&mut layered);
    let placed = place::place(&layered);
    Ok(route::route(picture, &layered, &placed))
}
