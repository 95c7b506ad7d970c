//! Readers: each turns one kind of document into workflows, or into every flaw it has.
//!
//! They share how text becomes a value with places ([`document`]) and how a place inside a text
//! value is found in the file ([`scalar`]).

pub mod document;
mod flaws;
pub mod scalar;
pub mod yaml_graph;

pub(crate) use flaws::Flaws;
