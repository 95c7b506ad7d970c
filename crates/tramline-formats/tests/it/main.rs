//! Tests of readers, writers and edits on whole documents.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod broken;
mod dags;
mod dialects;
mod editor;
mod hostile;
mod hostile_markdown;
mod ir;
mod markdown;
mod shared;
mod slips;
mod sops;
mod written;
