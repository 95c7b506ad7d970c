//! Arbitrary text as an exported run: imported and readable, or rejected.

#![no_main]

#[path = "../checks/run_import.rs"]
mod run_import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run_import::check(bytes));
