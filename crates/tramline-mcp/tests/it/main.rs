//! The client against servers that misbehave and against servers that people use.

mod calls;
mod contract;
mod lifecycle;
mod processes;
mod real;
mod support;
mod unruly;
