//! Any bytes as a flowchart: one that prints as itself comes back, or flaws that have places.

#![no_main]

#[path = "../checks/mermaid.rs"]
mod mermaid;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mermaid::check(bytes));
