//! Parsers that keep source locations: YAML and JSON documents, Mermaid flowcharts.
//!
//! Every value knows its line and column, so that a flaw is reported where it is and an edit changes
//! only what it must. The crate must not know what a document means.

pub mod document;
mod flaw_collector;
pub mod mermaid;
pub mod relative_path;
pub mod scalar_positions;
pub mod yaml_text;

pub use flaw_collector::{FlawCollector, MistypedFields};
