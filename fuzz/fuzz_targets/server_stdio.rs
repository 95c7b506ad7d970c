//! Arbitrary bytes from a client over stdio: every answer is a line of JSON, and the server exits
//! at the end of its input.

#![no_main]

#[path = "../checks/server_stdio.rs"]
mod server_stdio;
#[path = "../checks/serving.rs"]
mod serving;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server_stdio::check(bytes));
