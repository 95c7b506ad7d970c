//! How long a document takes to be read and drawn: `cargo run --release --example read_speed FILE`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example prints what it found"
)]

use std::time::Instant;
use tramline_core::formats::{self, Elsewhere, Hint, document};
use tramline_core::graph::Graph;
use tramline_core::picture::{Picture, layout, svg};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let hint = Hint {
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    for _ in 0..3 {
        let begun = Instant::now();
        let tree = document::read(&bytes).unwrap();
        println!("text into values {:?}", begun.elapsed());
        drop(tree);
        let begun = Instant::now();
        let read = formats::read(&bytes, hint).unwrap();
        println!("read {:?}", begun.elapsed());
        let workflow = (*read.document.workflows[0].workflow).clone();
        let begun = Instant::now();
        let built = Graph::build(workflow).unwrap();
        println!("of which building the graph {:?}", begun.elapsed());
        let begun = Instant::now();
        let picture = Picture::of(&built.0.workflow);
        match layout(&picture) {
            Ok(places) => {
                let text = svg(&picture, &places);
                println!("drawn {:?}, {} bytes", begun.elapsed(), text.len());
            }
            Err(large) => println!("{large}"),
        }
    }
}
