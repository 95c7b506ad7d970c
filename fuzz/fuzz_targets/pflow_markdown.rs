//! Any bytes as a workflow in markdown: a document comes back, or flaws that have places.

#![no_main]

#[path = "../checks/pflow_markdown.rs"]
mod pflow_markdown;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pflow_markdown::check(bytes));
