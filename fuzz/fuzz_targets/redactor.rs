//! Two secrets and a text, parted by zero bytes: nothing of a secret that the text holds comes back.

#![no_main]

#[path = "../checks/redactor.rs"]
mod redactor;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| redactor::check(bytes));
