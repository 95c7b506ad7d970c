//! Arbitrary bytes from an HTTP client: the server answers with HTTP or disconnects, and answers a
//! health check afterwards.

#![no_main]

#[path = "../checks/http_front.rs"]
mod http_front;
#[path = "../checks/serving.rs"]
mod serving;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http_front::check(bytes));
