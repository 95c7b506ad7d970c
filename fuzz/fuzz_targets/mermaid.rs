//! Arbitrary bytes as a flowchart: parsed and printed without change, or rejected with flaws that
//! have positions.

#![no_main]

#[path = "../checks/mermaid.rs"]
mod mermaid;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mermaid::check(bytes));
