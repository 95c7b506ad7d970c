//! Any bytes as a DAG of tasks: a document comes back, or flaws that have places.

#![no_main]

#[path = "../checks/json_dag.rs"]
mod json_dag;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| json_dag::check(bytes));
