//! Tests of readers and procedures on whole documents.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod broken;
mod dags;
mod dialects;
mod editor;
mod fuzz_seeds;
mod hostile;
mod hostile_markdown;
mod ir;
mod markdown;
mod mermaid;
mod shared;
mod sop_session;
mod sops;
mod written;
