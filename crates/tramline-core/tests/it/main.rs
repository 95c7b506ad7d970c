//! What the readers make of whole documents.

mod shared;
