//! The ports: traits for the store, tools, language models, workflow lookup, encryption, observers
//! and listeners.
//!
//! Few methods, plain data. Each trait has an in-memory fake and a contract suite in `testing`, and
//! every implementation passes that suite.

mod cipher;
mod document_table;
mod documents;
mod journals;
mod model;
mod observer;
mod run_listener;
mod store;
mod tools;
mod workflows;

pub use cipher::{Cipher, CipherFault};
pub use document_table::DocumentTable;
pub use documents::DocumentStore;
pub use journals::JournalStore;
pub use model::{Message, Model, ModelAnswer, Prompt, Role};
pub use observer::{Observer, PlanningSpan};
pub use run_listener::RunListener;
pub use store::{
    Append, AppendError, Claim, ClaimChange, Epoch, JournalChunk, KnownEvents, LeaseCounts,
    Replica, RunFilter, RunIndexRow, RunPage, RunRow, RunStatus, Store, StoreFault, StoreUsage,
};
pub use tools::{
    Exchange, ListedTools, Progress, ServerSource, ServerTools, StartingServer, Tool,
    ToolCallRequest, ToolHints, Tools,
};
pub use workflows::{Callable, Workflows};
