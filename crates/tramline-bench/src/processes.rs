//! The binary as users start it: from process start to the first result, and its memory.

use crate::graphs::sibling_program;
use crate::report::{BenchReport, FigureTarget};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const STARTS: usize = 30;
const WARM_RUNS: usize = 500;
const PAUSED_RUNS: usize = 10_000;
/// Requests in flight: a busy client does not wait for each answer.
const IN_FLIGHT: usize = 16;

pub(crate) fn measure(report: &mut BenchReport) -> Result<()> {
    cold_start(report)?;
    memory(report)
}

fn cold_start(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let kept = dir.path().join("kept");
    first_result(&kept)?;
    for (what, fresh) in [
        ("existing data directory", false),
        ("new data directory", true),
    ] {
        let mut times = Vec::new();
        for at in 0..STARTS {
            let data = if fresh {
                dir.path().join(format!("new-{at}"))
            } else {
                kept.clone()
            };
            times.push(first_result(&data)?);
        }
        times.sort_unstable();
        let (least, median) = (ms(times[0]), ms(times[STARTS / 2]));
        let name = format!("cold start to first result, {what}");
        report.add(
            format!("{name}, minimum of {STARTS}"),
            least,
            "ms",
            FigureTarget::Under(5.0),
        );
        report.add(format!("{name}, median"), median, "ms", FigureTarget::None);
    }
    Ok(())
}

fn first_result(data: &Path) -> Result<Duration> {
    let began = Instant::now();
    let mut child = Command::new(sibling_program("tramline")?)
        .arg("run")
        .arg(example("switch.yaml"))
        .args(["choose_shipping", "weight_kg=25", "--json", "--data-dir"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("stdout")?).read_line(&mut line)?;
    let took = began.elapsed();
    ensure!(
        child.wait()?.success() && line.contains("completed"),
        "{line}"
    );
    Ok(took)
}

fn memory(report: &mut BenchReport) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut server = ServerProcess::start(dir.path())?;
    server.ask(&json!({"method": "tools/list"}))?;
    report.add(
        "resident, idle server",
        server.resident()? / 1e6,
        "MB",
        FigureTarget::None,
    );
    server.pause_runs(WARM_RUNS)?;
    let before = server.resident()?;
    server.pause_runs(PAUSED_RUNS)?;
    let each = (server.resident()? - before) / PAUSED_RUNS as f64;
    let name = format!("resident per paused run, {PAUSED_RUNS} of them");
    report.add(name, each, "bytes", FigureTarget::Under(1_024.0));
    drop(server);
    let mut server = ServerProcess::start(dir.path())?;
    server.ask(&json!({"method": "tools/list"}))?;
    let name = format!("resident, server started with {PAUSED_RUNS} paused runs");
    report.add(name, server.resident()? / 1e6, "MB", FigureTarget::None);
    Ok(())
}

/// `tramline serve` and a client of it over stdio.
struct ServerProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: u64,
}

impl ServerProcess {
    fn start(data: &Path) -> Result<Self> {
        let mut child = Command::new(sibling_program("tramline")?)
            .arg("serve")
            .arg(example("approval.yaml"))
            .arg("--data-dir")
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("stdout")?);
        let mut server = Self {
            child,
            stdin,
            stdout,
            id: 0,
        };
        server.ask(&json!({"method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}}))?;
        writeln!(
            server.stdin,
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
        )?;
        Ok(server)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        self.send(request.clone())?;
        self.answer()
    }

    fn send(&mut self, mut request: Value) -> Result<()> {
        self.id += 1;
        request["jsonrpc"] = "2.0".into();
        request["id"] = self.id.into();
        Ok(writeln!(self.stdin, "{request}")?)
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).context("an answer")?;
        ensure!(answer.get("result").is_some(), "{line}");
        Ok(answer)
    }

    /// Starts runs that wait for a person.
    fn pause_runs(&mut self, count: usize) -> Result<()> {
        let request = json!({"method": "tools/call", "params": {
            "name": "write_note", "arguments": {"path": "note.txt", "text": "Leave at nine."}}});
        for at in 0..count + IN_FLIGHT {
            if at < count {
                self.send(request.clone())?;
            }
            if at >= IN_FLIGHT {
                let answer = self.answer()?;
                ensure!(answer.to_string().contains("chk_"), "{answer}");
            }
        }
        Ok(())
    }

    /// Its resident memory, in bytes.
    fn resident(&self) -> Result<f64> {
        status_bytes(self.child.id(), "VmRSS:")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A memory figure from `/proc/PID/status`, in bytes.
pub(crate) fn status_bytes(pid: u32, field: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    Ok(kib
        .context("the field is missing in /proc")?
        .parse::<f64>()?
        * 1024.0)
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/graphs")
        .join(name)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
