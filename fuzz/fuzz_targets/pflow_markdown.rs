//! Arbitrary bytes as a Markdown workflow: parsed, or rejected with flaws that have positions.

#![no_main]

#[path = "../checks/pflow_markdown.rs"]
mod pflow_markdown;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pflow_markdown::check(bytes));
