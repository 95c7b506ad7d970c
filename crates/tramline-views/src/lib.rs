//! Views: what a run, an SOP session or a document looks like to a reader.
//!
//! A view is computed from a journal, a graph or a document, for people and programs. The crate must
//! not change anything, and nothing here decides what happens next.

pub mod branch_explanation;
pub mod compare;
pub mod diagnostics;
pub mod diagram;
pub mod event_summary;
#[cfg(feature = "schema")]
pub mod format_schema;
pub mod pause_view;
pub mod skill;
pub mod snapshot;
pub mod sop_coverage_chart;
pub mod sop_history;
pub mod step_tracker;
pub mod text_diff;
pub mod timeline;
pub mod trace;
