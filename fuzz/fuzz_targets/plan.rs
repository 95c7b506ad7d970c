//! Arbitrary text as a plan of tool calls: parsed into tasks, or rejected with reasons.

#![no_main]

#[path = "../checks/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plan::check(bytes));
