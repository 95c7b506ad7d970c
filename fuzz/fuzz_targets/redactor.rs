//! Two secrets and a text, separated by zero bytes: redaction removes every part of a secret in the
//! text.

#![no_main]

#[path = "../checks/redactor.rs"]
mod redactor;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| redactor::check(bytes));
