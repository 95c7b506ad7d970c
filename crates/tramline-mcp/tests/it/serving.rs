//! Tramline as a server, seen by a real client of each era.

mod debugging;
mod effects;
mod support;
mod toolsets;
