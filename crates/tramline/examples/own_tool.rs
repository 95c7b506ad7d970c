//! A function of the program as a tool that graphs can call.
//!
//! Run it with `cargo run --example own_tool`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tramline::{Config, Error, Tool, Tramline};

/// The arguments: callers must match their schema, and agents read their comments.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

#[derive(Serialize)]
struct Greeting {
    text: String,
}

async fn greet(greet: Greet) -> Result<Greeting, String> {
    if greet.name.is_empty() {
        return Err("nobody to greet".into());
    }
    let text = format!("Hello, {}!", greet.name);
    Ok(Greeting { text })
}

const DOCUMENT: &str = r#"
version: "1.0"
server: { name: greetings, version: "1.0.0" }
tools:
  - name: welcome
    description: Greets somebody loudly.
    inputSchema: { type: object, properties: { name: { type: string } }, required: [name] }
    nodes:
      - { id: entry, type: entry, next: greet }
      - { id: greet, type: mcp, server: app, tool: greet, args: { name: $.entry.name }, next: shout }
      - { id: shout, type: transform, transform: { expr: $uppercase(greet.text) }, next: exit }
      - { id: exit, type: exit }
"#;

/// Greets somebody through a graph that calls the function above.
pub(crate) async fn welcome(name: &str) -> Result<Value, Error> {
    // A read-only call is repeated after a crash; any other call is asked about first.
    let tool = Tool::new("greet", "Greets somebody.", greet).read_only();
    let tramline = Tramline::open(Config::in_memory().tool(tool))?;
    tramline.load_str(DOCUMENT)?;
    let ended = tramline.run("welcome", json!({ "name": name })).await?;
    ended.result()
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!("{}", welcome("Ada").await?);
    Ok(())
}
