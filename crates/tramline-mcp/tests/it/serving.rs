//! Tramline as a server, seen by a real client of each era.

mod support;
mod toolsets;
