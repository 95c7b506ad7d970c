//! Arbitrary bytes as a YAML graph: parsed, or rejected with flaws that have positions.

#![no_main]

#[path = "../checks/places.rs"]
mod places;
#[path = "../checks/yaml_graph.rs"]
mod yaml_graph;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| yaml_graph::check(bytes));
