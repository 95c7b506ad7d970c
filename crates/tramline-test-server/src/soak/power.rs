//! The power soak: a server's writes are recorded with its syncs, and at many moments the data
//! directory is rebuilt as a disk might hold it after a power loss. Everything sent by that moment,
//! to a downstream server or to the client, must be in the journal.

use super::seeded_rng::SeededRng;
use super::{SoakSettings, VIOLATIONS_MAX};
use anyhow::{Context, Result, ensure};
use disk::{DiskOperation, SimulatedDisk, Survival, parse_recording};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

mod disk;

/// Runs of the graph in one workload, a few of them concurrently.
const RUNS: u64 = 10;
const AT_ONCE: u64 = 3;

/// The nodes of the graph that call the server.
const NODES: [&str; 3] = ["a", "b", "c"];

/// The results of the soak.
#[derive(Debug, Default)]
pub struct PowerTally {
    /// Moments of power loss.
    pub moments: u64,
    /// Data directories that were rebuilt and opened.
    pub disks: u64,
    /// Calls and replies that were looked up in them.
    pub looked_for: u64,
    /// What was missing or unreadable.
    pub violations: Vec<String>,
}

impl fmt::Display for PowerTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            moments,
            disks,
            looked_for,
            violations,
        } = self;
        writeln!(f, "{moments:>6} moments of power loss")?;
        writeln!(f, "{disks:>6} possible disk states")?;
        writeln!(f, "{looked_for:>6} calls and replies looked up")?;
        write!(f, "{:>6} violations", violations.len())?;
        violations.iter().try_for_each(|each| write!(f, "\n{each}"))
    }
}

/// Simulates power loss at `settings.kills` moments.
pub fn power(settings: &SoakSettings) -> Result<PowerTally> {
    std::fs::create_dir_all(&settings.dir)?;
    let mut chance = SeededRng::new(settings.seed);
    let mut tally = PowerTally::default();
    while tally.moments < settings.kills && tally.violations.len() < VIOLATIONS_MAX {
        let dir = settings.dir.join(tally.moments.to_string());
        std::fs::create_dir_all(&dir)?;
        let recorded = record_work(settings, &dir)?;
        examine(settings, &dir, &recorded, &mut chance, &mut tally)?;
        (settings.on_progress)(&format!("{} moments", tally.moments));
        if tally.violations.is_empty() {
            std::fs::remove_dir_all(&dir)?;
        }
    }
    Ok(tally)
}

fn document(unruly: &Path, dir: &Path) -> Value {
    let node = |(at, id): (usize, &&str)| {
        json!({"id": id, "type": "mcp", "server": "u", "tool": "record",
            "args": {"node": id, "tag": "$.entry.tag"},
            "next": NODES.get(at + 1).unwrap_or(&"exit")})
    };
    let mut nodes = vec![json!({"id": "entry", "type": "entry", "next": NODES[0]})];
    nodes.extend(NODES.iter().enumerate().map(node));
    nodes.push(json!({"id": "exit", "type": "exit"}));
    json!({
        "version": "1.0", "server": {"name": "power", "version": "1.0.0"},
        "mcpServers": {"u": {"command": unruly, "env": {"UNRULY_LOG": dir.join("calls.log")}}},
        "tools": [{"name": "go", "description": "Calls the test server three times.", "nodes": nodes, "inputSchema": {
            "type": "object", "properties": {"tag": {"type": "string"}}}}],
    })
}

/// Compiles the recorder, runs a server under it, and returns the recorded operations.
fn record_work(settings: &SoakSettings, dir: &Path) -> Result<Vec<DiskOperation>> {
    let recorder = settings.dir.join("recorder.so");
    if !recorder.exists() {
        let source = settings.dir.join("recorder.c");
        std::fs::write(&source, include_str!("power/recorder.c"))?;
        let mut compile = Command::new("cc");
        compile
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&recorder)
            .arg(&source);
        compile.args(["-ldl", "-lpthread"]);
        let done = compile
            .output()
            .context("a C compiler is needed: install gcc or clang")?;
        ensure!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    std::fs::write(
        dir.join("power.yaml"),
        document(&settings.unruly, dir).to_string(),
    )?;
    let (data, log) = (dir.join("data"), dir.join("record"));
    let mut server = Command::new(&settings.tramline)
        .args(["serve", "power.yaml", "--data-dir"])
        .arg(&data)
        .current_dir(dir)
        .env("LD_PRELOAD", &recorder)
        .env("POWER_DIR", &data)
        .env("POWER_LOG", &log)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let talked = call_server(&mut server);
    let ended = server.wait()?;
    talked?;
    ensure!(ended.success(), "the server exited with {ended}");
    let all = parse_recording(&std::fs::read(log)?)?;
    let syncs = all
        .iter()
        .filter(|deed| matches!(deed, DiskOperation::Synced { .. }))
        .count();
    ensure!(syncs as u64 >= RUNS, "nothing was recorded: {syncs} syncs");
    Ok(all)
}

fn call_server(server: &mut Child) -> Result<()> {
    let mut input = server.stdin.take().context("standard input")?;
    let output = server.stdout.take().context("standard output")?;
    let mut lines = BufReader::new(output).lines();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "power", "version": "1"}}});
    writeln!(input, "{hello}")?;
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
    )?;
    let (mut asked, mut answered) = (0, 0);
    while answered < RUNS {
        while asked < RUNS && asked - answered < AT_ONCE {
            asked += 1;
            let call = json!({"jsonrpc": "2.0", "id": asked, "method": "tools/call", "params": {
                "name": "go", "arguments": {"tag": tag(asked)}}});
            writeln!(input, "{call}")?;
        }
        let line = lines.next().context("the server exited")??;
        let message: Value = serde_json::from_str(&line)?;
        answered += u64::from(message["id"].as_u64().is_some_and(|id| id > 0));
    }
    Ok(())
}

fn tag(id: u64) -> String {
    format!("tag-{id}")
}

/// What had been sent by some moment.
#[derive(Clone, Default)]
struct SentMessages {
    /// Calls, as the run's tag and the node.
    calls: BTreeSet<(String, String)>,
    /// Runs whose result was sent.
    results: BTreeSet<String>,
    /// Incomplete lines, by pipe.
    parts: BTreeMap<u64, Vec<u8>>,
}

impl SentMessages {
    fn sent(&mut self, pipe: u64, bytes: &[u8]) {
        let part = self.parts.entry(pipe).or_default();
        part.extend_from_slice(bytes);
        while let Some(end) = part.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = part.drain(..=end).collect();
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            let arguments = &message["params"]["arguments"];
            let text = |value: &Value| value.as_str().map(str::to_owned);
            if let (Some(tag), Some(node)) = (text(&arguments["tag"]), text(&arguments["node"])) {
                self.calls.insert((tag, node));
            }
            if let (Some(id @ 1..), true) = (message["id"].as_u64(), message["result"].is_object())
            {
                self.results.insert(tag(id));
            }
        }
    }
}

/// Replays the recorded operations and simulates power loss at random moments, preferably when
/// something is sent.
fn examine(
    settings: &SoakSettings,
    dir: &Path,
    recorded: &[DiskOperation],
    chance: &mut SeededRng,
    tally: &mut PowerTally,
) -> Result<()> {
    let wanted = settings.kills - tally.moments;
    let leaves = recorded
        .iter()
        .filter(|deed| matches!(deed, DiskOperation::Sent { .. }))
        .count() as u64;
    let (mut disk, mut left) = (SimulatedDisk::default(), SentMessages::default());
    let mut here = 0;
    for (at, deed) in recorded.iter().enumerate() {
        disk.apply(deed);
        if let DiskOperation::Sent { pipe, bytes } = deed {
            left.sent(*pipe, bytes);
        }
        // As many sends as wanted, which matter most, and some other operations.
        let share = match deed {
            DiskOperation::Sent { .. } => (100 * wanted / leaves.max(1)).clamp(1, 100),
            _ => (20 * wanted / recorded.len() as u64).clamp(1, 100),
        };
        if here >= wanted || !chance.percent(share) {
            continue;
        }
        here += 1;
        tally.moments += 1;
        for survives in [Survival::Nothing, Survival::All, Survival::Some] {
            let image = dir.join("image");
            disk.restore(&image, survives, chance)?;
            tally.disks += 1;
            let wrong = check(settings, &image, &left, tally)?;
            if let Some(wrong) = wrong {
                let moment = format!("after {at} of {} operations, {survives:?}", recorded.len());
                std::fs::rename(&image, dir.join(format!("image-{at}-{survives:?}")))?;
                tally.violations.push(format!("{moment}: {wrong}"));
            } else {
                std::fs::remove_dir_all(&image)?;
            }
        }
    }
    Ok(())
}

/// Opens a data directory and looks up everything that was sent. Returns the first problem.
fn check(
    settings: &SoakSettings,
    image: &Path,
    left: &SentMessages,
    tally: &mut PowerTally,
) -> Result<Option<String>> {
    if !image.join("tramline.db").exists() {
        let nothing = left.calls.is_empty() && left.results.is_empty();
        return Ok((!nothing).then(|| "there is no database".to_owned()));
    }
    let say = |words: &[&str]| -> Result<(bool, Value)> {
        let mut command = Command::new(&settings.tramline);
        command
            .args(words)
            .arg("--json")
            .arg("--data-dir")
            .arg(image);
        let output = command.stdin(Stdio::null()).output()?;
        let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Ok((output.status.success(), json))
    };
    let (sound, findings) = say(&["doctor", "--deep"])?;
    if !sound {
        return Ok(Some(format!("doctor finds {findings}")));
    }
    let (_, listed) = say(&["runs"])?;
    let runs = listed["runs"].as_array().cloned().unwrap_or_default();
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for run in runs.iter().filter_map(|run| run["run_id"].as_str()) {
        let (shown, trace) = say(&["runs", "show", run])?;
        let Some(tag) = trace["input"]["tag"].as_str().filter(|_| shown) else {
            return Ok(Some(format!("{run} cannot be read: {trace}")));
        };
        known.insert(tag.to_owned(), trace);
    }
    let steps = |tag: &str| known.get(tag).and_then(|trace| trace["steps"].as_array());
    for (tag, node) in &left.calls {
        tally.looked_for += 1;
        let has =
            steps(tag).is_some_and(|all| all.iter().any(|step| step["node"] == node.as_str()));
        if !has {
            return Ok(Some(format!(
                "the call of {node} for {tag} is not in the journal"
            )));
        }
    }
    for tag in &left.results {
        tally.looked_for += 1;
        if known
            .get(tag)
            .is_none_or(|trace| trace["status"] != "completed")
        {
            return Ok(Some(format!("{tag} was reported as completed, but is not")));
        }
    }
    Ok(None)
}
