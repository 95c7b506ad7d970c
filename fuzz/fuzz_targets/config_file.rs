//! Arbitrary bytes as the operator's configuration: parsed, or rejected with flaws that have
//! positions.

#![no_main]

#[path = "../checks/config_file.rs"]
mod config_file;
#[path = "../checks/places.rs"]
mod places;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config_file::check(bytes));
