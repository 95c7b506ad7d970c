//! What the readers make of whole documents.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

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
mod navigation;
mod shared;
mod sops;
mod written;
