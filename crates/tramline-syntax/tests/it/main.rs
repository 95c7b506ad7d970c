//! Tests of the parsers on whole documents.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod mermaid;
