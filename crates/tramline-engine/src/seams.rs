//! The seams: where runs are kept, what can be called, what completes text, what tells
//! meanings, what has a name, what seals secrets, what is told of it all.
//!
//! Few methods, plain data. Each has an in-memory fake and a contract suite in `testing`, and
//! every implementation passes that suite.

mod embedder;
mod model;
mod observer;
mod sealer;
mod store;
mod tools;
mod workflows;

pub use embedder::Embedder;
pub use model::{Answer, Message, Model, Prompt, Role};
pub use observer::{Observer, Thought};
pub use sealer::{SealFault, Sealer};
pub use store::{
    Append, AppendError, Chunk, Claim, Head, Hold, Page, RunFilter, RunRow, Status, Store,
    StoreFault, Usage,
};
pub use tools::{Call, Exchange, Hints, Listed, Listing, Progress, Source, Tool, Tools};
pub use workflows::{Callable, Workflows};
