//! Any text as the file of an exported run: it is taken and can be read, or refused.

#![no_main]

#[path = "../checks/run_import.rs"]
mod run_import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run_import::check(bytes));
