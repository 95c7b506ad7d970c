//! Serves documents to MCP clients from inside a program.
//!
//! Run it with `cargo run --example serve` in the root of the repository; Ctrl-C ends it.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::net::Ipv4Addr;
use tramline::{Config, Error, HttpServer, Tramline};

/// Serves the file tools over HTTP, on this machine only.
pub(crate) async fn serve(port: u16) -> Result<(Tramline, HttpServer), Error> {
    let tramline = Tramline::open(Config::in_memory().root("examples"))?;
    tramline.load_file("examples/graphs/file_utils.yaml")?;

    // Resume the runs that were active in this data directory when its last process ended.
    tramline.recover().await?;

    // `serve_stdio` does the same for a client that starts this program.
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let serving = tramline.serve_http(address, None).await?;
    Ok((tramline, serving))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (tramline, serving) = serve(8080).await?;
    println!("serving at {}", serving.url());
    tokio::signal::ctrl_c().await?;
    serving.stop().await?;
    tramline.close().await;
    Ok(())
}
