//! Describes the machine that measured, without its name.

use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// What matters for figures: processor, cores, memory, system, disk, and the load.
pub(super) fn describe(dir: &Path) -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once([':', '=']));
        value.map_or("unknown".to_owned(), |(_, value)| {
            value.trim().trim_matches('"').to_owned()
        })
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = after(&read("/proc/meminfo"), "MemTotal");
    let kib: f64 = memory.trim_end_matches("kB").trim().parse().unwrap_or(0.0);
    let load = read("/proc/loadavg");
    json!({
        "processor": after(&read("/proc/cpuinfo"), "model name"),
        "cores": cores,
        "memory_gb": (kib / 1e6).round(),
        "system": after(&read("/etc/os-release"), "PRETTY_NAME"),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "disk": output_of(Command::new("stat").args(["-f", "-c", "%T"]).arg(dir)).unwrap_or_default(),
        "load_before": load.split_whitespace().next().unwrap_or_default(),
        "rust": output_of(Command::new("rustc").arg("--version")).unwrap_or_default(),
        "node": output_of(Command::new("node").arg("--version")).unwrap_or_default(),
        "python": output_of(Command::new("python3").arg("--version")).unwrap_or_default(),
    })
}

/// The current date in UTC.
pub(super) fn today() -> Result<String> {
    output_of(Command::new("date").args(["-u", "+%Y-%m-%d"]))
}

fn output_of(command: &mut Command) -> Result<String> {
    let done = command.output()?;
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
