//! Any text as a plan of tool calls: it becomes tasks again, or reasons come back.

#![no_main]

#[path = "../checks/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plan::check(bytes));
