//! Arbitrary bytes as a DAG of tasks: parsed, or rejected with flaws that have positions.

#![no_main]

#[path = "../checks/json_dag.rs"]
mod json_dag;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| json_dag::check(bytes));
