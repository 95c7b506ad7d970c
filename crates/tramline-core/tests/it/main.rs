//! What the readers make of whole documents.

mod broken;
mod dialects;
mod hostile;
mod shared;
