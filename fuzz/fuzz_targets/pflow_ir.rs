//! Arbitrary bytes as a pflow IR: parsed, or rejected with flaws that have positions.

#![no_main]

#[path = "../checks/pflow_ir.rs"]
mod pflow_ir;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pflow_ir::check(bytes));
