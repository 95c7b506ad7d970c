//! Arbitrary bytes as a procedure: parsed, or rejected with flaws that have positions.

#![no_main]

#[path = "../checks/places.rs"]
mod places;
#[path = "../checks/sop_markdown.rs"]
mod sop_markdown;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sop_markdown::check(bytes));
