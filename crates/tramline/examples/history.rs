//! Finds runs and reads them: every step, and the state at each of them.
//!
//! Run it with `cargo run --example history` in the root of the repository.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde_json::json;
use std::path::Path;
use tramline::{Config, Error, RunFilter, RunStatus, Trace, Tramline};

/// Runs a tool twice and reads the failed run: all of it, and as of its first step.
pub(crate) async fn read(data: &Path) -> Result<(Trace, Trace), Error> {
    let tramline = Tramline::open(Config::at(data).root("examples"))?;
    tramline.load_file("examples/graphs/file_utils.yaml")?;
    for directory in ["data", "nowhere"] {
        let input = json!({ "directory": directory });
        tramline
            .run("count_files", input)
            .session("nightly")
            .await?;
    }

    // Runs of every process that shares the data directory, newest first.
    let filter = RunFilter {
        session: Some("nightly".into()),
        status: vec![RunStatus::Failed],
        ..RunFilter::default()
    };
    let page = tramline.runs(filter).await?;
    let failed = page.rows.first();
    let failed = failed.map(|row| row.run.clone());
    let Some(failed) = failed else {
        return Err(Error::Unreadable("no run has failed".into()));
    };

    let run = tramline.get(&failed).await?;
    let whole = run.trace().await?;
    let early = run.at(1).await?;
    tramline.close().await;
    Ok((whole, early))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let data = std::env::temp_dir().join("tramline-history");
    let (whole, _) = read(&data).await?;
    for step in &whole.steps {
        println!("{:>3} {} {}", step.step, step.node, step.status);
        if let Some(error) = &step.error {
            println!("    {} {}", error.code, error.message);
        }
    }
    Ok(())
}
