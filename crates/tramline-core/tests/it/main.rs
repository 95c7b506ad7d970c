//! What the readers make of whole documents.

mod broken;
mod dialects;
mod editor;
mod hostile;
mod shared;
