//! The seams: traits for the store, tools, language models, embeddings, workflow lookup, encryption
//! and observers.
//!
//! Few methods, plain data. Each trait has an in-memory fake and a contract suite in `testing`, and
//! every implementation passes that suite.

mod cipher;
mod embedder;
mod model;
mod observer;
mod store;
mod tools;
mod workflows;

pub use cipher::{Cipher, CipherFault};
pub use embedder::Embedder;
pub use model::{Message, Model, ModelAnswer, Prompt, Role};
pub use observer::{Observer, PlanningSpan};
pub use store::{
    Append, AppendError, Claim, ClaimChange, JournalChunk, RunFilter, RunIndexRow, RunPage, RunRow,
    RunStatus, Store, StoreFault, StoreUsage,
};
pub use tools::{
    Exchange, ListedTools, Progress, ServerSource, ServerTools, Tool, ToolCallRequest, ToolHints,
    Tools,
};
pub use workflows::{Callable, Workflows};
