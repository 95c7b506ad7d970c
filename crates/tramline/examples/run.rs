//! Loads a document, lists its tools, runs one of them.
//!
//! Run it with `cargo run --example run` in the root of the repository.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::{Value, json};
use tramline::{Config, Error, Tramline};

/// Counts the files in a folder.
pub(crate) async fn count() -> Result<Value, Error> {
    // Keeps runs in memory and allows file access only under `examples`. Relative paths in graphs
    // refer to it.
    let tramline = Tramline::open(Config::in_memory().root("examples"))?;

    // Flaws are returned as data, each with line and column: `Error::Flawed`.
    let document = tramline.load_file("examples/graphs/file_utils.yaml")?;
    for tool in document.tools() {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }

    // A failed run is not an `Err` yet: `ended.how` is its outcome. `result` turns it into one.
    let input = json!({ "directory": "data" });
    let ended = tramline.run("count_files", input).await?;
    ended.result()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!("{}", count().await?);
    Ok(())
}
