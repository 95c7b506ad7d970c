//! Arbitrary bytes as a pflow IR: parsed, or rejected with flaws that have positions.

use super::places;
use tramline_formats::{Format, KnownServers, ReadOptions};

pub(crate) fn check(bytes: &[u8]) {
    let hint = ReadOptions {
        format: Some(Format::Ir),
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    match tramline_formats::read(bytes, hint) {
        Ok(read) => assert!(!read.document.workflows.is_empty()),
        Err(flaws) => places::check(&flaws),
    }
}
