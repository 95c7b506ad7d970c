//! Loads a document, lists its tools, runs one of them.
//!
//! `cargo run --example run`, in the project's own folder.

#![allow(clippy::print_stdout, reason = "an example shows what it got")]

use serde_json::{Value, json};
use tramline::{Config, Error, Tramline};

/// Counts the files of a folder.
pub(crate) async fn count() -> Result<Value, Error> {
    // Nothing is kept after this process, and nothing but files under `examples` is touched.
    // Paths that graphs give are read from there.
    let tramline = Tramline::open(Config::in_memory().root("examples"))?;

    // Flaws come back as data, each with its line and column: `Error::Flawed`.
    let document = tramline.load_file("examples/graphs/file_utils.yaml")?;
    for tool in document.tools() {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }

    // A run that fails is no `Err` yet: `ended.how` tells how it came out. `result` makes it one.
    let input = json!({ "directory": "data" });
    let ended = tramline.run("count_files", input).await?;
    ended.result()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!("{}", count().await?);
    Ok(())
}
