//! Many clients at once over HTTP: calls a second and how long each waits, beside a bare server.

use super::report::{Aim, Report};
use super::storm::{Ask, CLIENTS, end, listening, storm};
use super::{beside, documents, echo};
use anyhow::{Context, Result};
use serde_json::json;
use std::process::{Command, Stdio};

const CALLS_EACH: usize = 100;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let document = dir.path().join("bench.yaml");
    documents::write(&document, &std::env::current_exe()?)?;
    let mut ours = Command::new(beside("tramline")?);
    ours.arg("serve")
        .arg(&document)
        .args(["--http", "127.0.0.1:0"]);
    ours.arg("--data-dir").arg(dir.path().join("data"));
    ours.stderr(Stdio::piped());
    let mut child = ours.spawn()?;
    let address = listening(child.stderr.take().context("its words")?)?;
    let ask = Ask::call("transforms_1", json!({"n": 1}));
    let ours = storm(address, &ask, CLIENTS, CALLS_EACH);
    end(&mut child);
    let mut bare = Command::new(std::env::current_exe()?);
    bare.arg(echo::HTTP).stdout(Stdio::piped());
    let mut child = bare.spawn()?;
    let address = listening(child.stdout.take().context("its words")?)?;
    let bare = storm(address, &ask, CLIENTS, CALLS_EACH);
    end(&mut child);
    let (ours, bare) = (ours?, bare?);
    for (what, storm) in [
        ("ours, each a durable run", &ours),
        ("a bare server", &bare),
    ] {
        let name = format!("{CLIENTS} HTTP clients, {what}");
        report.add(format!("{name}: calls"), storm.rate, "/s", Aim::None);
        report.add(format!("{name}: half within"), storm.half, "ms", Aim::None);
        report.add(
            format!("{name}: 99 of 100 within"),
            storm.most,
            "ms",
            Aim::None,
        );
    }
    Ok(())
}
