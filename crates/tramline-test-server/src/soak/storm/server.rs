//! One of the servers: used over stdio until it is killed, then started again.

use super::super::command::CommandEnv;
use super::super::seeded_rng::SeededRng;
use super::super::shared_store::STOPPED;
use super::StormContext;
use super::known_runs::OpenQuestion;
use crate::processes;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// Approximate number of open runs: enough that several processes answer the same run.
const OPEN_RUNS: usize = 12;

/// Starts a server repeatedly, calls it, and kills it meanwhile.
pub(super) fn run_servers(weather: &StormContext<'_>, mut chance: SeededRng) -> Result<()> {
    while !weather.is_over() {
        let mut server = StormServer::start(weather)?;
        if weather.settings.store.is_some() && chance.percent(10) {
            // Stopped in the middle of its work, for longer than its lease, and woken.
            server.stop_and_wake(&request(weather, &mut chance))?;
            weather.killed("a server, stopped and woken", "in the storm");
        }
        let (requests, with_servers) = (chance.between(1, 5), chance.percent(50));
        let mut fuse = None;
        for number in 1..=requests {
            let (tool, arguments) = request(weather, &mut chance);
            if number == requests {
                let wait = Duration::from_micros(chance.between(0, 60_000));
                fuse = Some(server.kill_after(wait, with_servers));
            }
            let Some(reply) = server.call(&tool, &arguments)? else {
                break;
            };
            weather.board().record_reply(&reply);
        }
        if let Some(fuse) = fuse {
            let _ = fuse.join();
        }
        server.kill_and_wait();
        weather.killed("a server", "in the storm");
    }
    Ok(())
}

/// The next request of a client.
fn request(weather: &StormContext<'_>, chance: &mut SeededRng) -> (String, Value) {
    let (open, picked) = {
        let board = weather.board();
        (board.len(), board.pick(chance))
    };
    let begins = open < OPEN_RUNS || chance.percent(10);
    let Some((run, asked)) = picked.filter(|_| !begins) else {
        return ("execute_dag".to_owned(), dag(chance));
    };
    match (chance.between(1, 20), asked) {
        (1, _) => {
            weather.board().forget(&run);
            let arguments = json!({"workflow_id": run, "reason": "it storms"});
            ("abort".to_owned(), arguments)
        }
        (2..=4, _) => {
            let id = format!("more{}", chance.between(1, 1_000_000));
            let tasks = [task(chance, &id, &[])];
            let arguments =
                json!({"workflow_id": run, "new_requirement": "more of it", "new_tasks": tasks});
            ("replan".to_owned(), arguments)
        }
        (_, Some(OpenQuestion { checkpoint, kind })) if kind == "approval" => {
            let arguments =
                json!({"workflow_id": run, "checkpoint_id": checkpoint, "approved": true});
            ("approval_response".to_owned(), arguments)
        }
        (_, Some(OpenQuestion { checkpoint, .. })) => {
            let arguments = json!({"workflow_id": run, "checkpoint_id": checkpoint});
            ("continue".to_owned(), arguments)
        }
        (_, None) => ("continue".to_owned(), json!({"workflow_id": run})),
    }
}

/// Tasks with several open questions, each recognisable in the log.
fn dag(chance: &mut SeededRng) -> Value {
    let mut tasks: Vec<Value> = Vec::new();
    for number in 0..chance.between(3, 6) {
        let ids: Vec<_> = tasks.iter().map(|task| task["id"].clone()).collect();
        let first = chance.pick(&ids).cloned();
        let before: Vec<_> = first.into_iter().filter(|_| chance.percent(35)).collect();
        tasks.push(task(chance, &format!("n{number}"), &before));
    }
    json!({
        "workflow": {"tasks": tasks},
        "config": {"per_layer_validation": chance.percent(25)},
    })
}

fn task(chance: &mut SeededRng, id: &str, before: &[Value]) -> Value {
    let delay_ms = match chance.percent(60) {
        true => chance.between(1, 60),
        false => 0,
    };
    let mut task = json!({
        "id": id, "tool": "u:record", "depends_on": before,
        "arguments": {"node": id, "delay_ms": delay_ms},
    });
    if chance.percent(65) {
        task["approval"] = json!(true);
    }
    if chance.percent(15) {
        task["tool"] = json!("u:echo");
    }
    task
}

/// A running server, and its client.
struct StormServer {
    child: Child,
    setting: CommandEnv,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl StormServer {
    fn start(weather: &StormContext<'_>) -> Result<Self> {
        let setting = weather.setting();
        let mut command = setting.command(&["serve", "--toolsets", "control", "--mcp-config"]);
        let mut child = command
            .arg(weather.servers_file())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting a server")?;
        let input = child.stdin.take().context("no input")?;
        let output = child.stdout.take().context("no output")?;
        let mut server = Self {
            child,
            setting,
            input,
            lines: BufReader::new(output).lines(),
            asked: 0,
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "storm", "version": "1"}});
        server.ask("initialize", &hello)?;
        let hello = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        // A server that has just died is noticed by the next call.
        let _ = writeln!(server.input, "{hello}");
        Ok(server)
    }

    /// Kills it after a while, alone or with its servers.
    fn kill_after(&self, wait: Duration, with_servers: bool) -> std::thread::JoinHandle<()> {
        let (id, mark) = (self.child.id(), self.setting.mark.clone());
        std::thread::spawn(move || {
            std::thread::sleep(wait);
            if let Ok(id) = i32::try_from(id) {
                let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
            }
            if with_servers {
                processes::kill_marked(&mark);
            }
        })
    }

    /// Calls a tool; `None` if the server died meanwhile.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Option<Value>> {
        let params = json!({"name": tool, "arguments": arguments});
        let reply = self.ask("tools/call", &params)?;
        Ok(reply.map(|reply| reply["result"]["structuredContent"].clone()))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Option<Value>> {
        self.asked += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        if writeln!(self.input, "{message}").is_err() {
            return Ok(None);
        }
        for line in self.lines.by_ref() {
            let Ok(line) = line else {
                return Ok(None);
            };
            // A line may be truncated by the kill.
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                return Ok(None);
            };
            if message["id"] == self.asked {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Sends a request, and stops the process before it can have answered for longer than its lease.
    fn stop_and_wake(&mut self, (tool, arguments): &(String, Value)) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        let waker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(15));
            let _ = kill(pid, Signal::SIGSTOP);
            std::thread::sleep(STOPPED);
            let _ = kill(pid, Signal::SIGCONT);
        });
        let _ = self.call(tool, arguments)?;
        let _ = waker.join();
        Ok(())
    }

    fn kill_and_wait(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
