//! `cargo xtask bench SUBJECT`: builds the benchmarks in release mode and runs them.

use crate::{paths, setup, shell};
use anyhow::{Result, bail, ensure};
use std::process::Command;

mod peers;

/// What can be measured.
const SUBJECTS: &[&str] = &[
    "engine",
    "telemetry",
    "expr",
    "check",
    "graphs",
    "control",
    "loop",
    "search",
    "sop",
    "planner",
    "peers",
];

/// Checkpointing engines that ours is compared with.
const ENGINES: &[&str] = &[
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "dbos==3.3.0",
];

/// Another server of YAML graphs that ours is compared with.
const PEER: (&str, &str) = ("mcpgraph", "0.1.23");

/// Runs a benchmark; the arguments after the subject go to the benchmark program.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((subject, rest)) if subject == "engine" => engine(&["tramline"], rest),
        Some((subject, _)) if subject == "telemetry" => engine(&[], arguments),
        Some((subject, rest)) if subject == "expr" => expr(rest),
        Some((subject, rest)) if subject == "check" => check(rest),
        Some((subject, rest)) if subject == "graphs" => graphs(rest),
        Some((subject, rest)) if subject == "control" => control(rest),
        Some((subject, rest)) if subject == "loop" => loop_bench(rest),
        Some((subject, rest)) if subject == "search" => search(rest),
        Some((subject, rest)) if subject == "sop" => sop(rest),
        Some((subject, rest)) if subject == "planner" => planner(rest),
        Some((subject, rest)) if subject == "peers" => peers::run(rest),
        Some((other, _)) => bail!("unknown benchmark `{other}`; {}", known()),
        None => bail!("name a benchmark; {}", known()),
    }
}

fn known() -> String {
    format!("the benchmarks are {}", SUBJECTS.join(", "))
}

/// Runs parts of the engine benchmark; `more` lists packages it needs besides itself and the test
/// server.
fn engine(more: &[&str], arguments: &[String]) -> Result<()> {
    // Built one by one: built together they would share features, and the binary would not be the
    // shipped one.
    for package in more
        .iter()
        .chain(&["tramline-test-server", "tramline-bench"])
    {
        let what = ["build", "--quiet", "--release", "--package", package];
        shell::run(&mut shell::cargo(&what))?;
    }
    let program = paths::target().join("release/tramline-bench");
    shell::run(Command::new(program).args(arguments))
}

fn expr(arguments: &[String]) -> Result<()> {
    let modules = paths::tools().join("node_modules");
    for package in ["jsonata", "json-logic-js"] {
        ensure!(
            modules.join(package).is_dir(),
            "the npm package {package} is not in {}; `cargo xtask setup` installs it",
            modules.display()
        );
    }
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features expr --bin tramline-bench-expr";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let program = paths::target().join("release/tramline-bench-expr");
    shell::run(
        Command::new(program)
            .args(arguments)
            .env("NODE_PATH", modules),
    )
}

/// The check of a graph with 500 nodes, without servers.
fn check(arguments: &[String]) -> Result<()> {
    let what = "run --quiet --release --package tramline-formats --example check_speed --";
    let mut program = shell::cargo(&what.split_whitespace().collect::<Vec<_>>());
    shell::run(program.args(arguments))
}

/// Recorded SOP sessions through the gate of a procedure; with `--moves`, the time that a move
/// takes.
fn sop(arguments: &[String]) -> Result<()> {
    let is_moves = arguments.iter().any(|it| it == "--moves");
    let (feature, program) = match is_moves {
        true => ("sop", "tramline-bench-sop"),
        false => ("replay", "tramline-bench-replay"),
    };
    let what = format!(
        "build --quiet --release --package tramline-bench --no-default-features \
         --features {feature} --bin {program}"
    );
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let rest = arguments.iter().filter(|it| *it != "--moves");
    let program = paths::target().join("release").join(program);
    shell::run(Command::new(program).args(rest))
}

fn graphs(arguments: &[String]) -> Result<()> {
    let peers = paths::target().join("bench");
    let (name, version) = PEER;
    let program = peers.join("node_modules").join(name).join("dist/main.js");
    if !program.is_file() {
        std::fs::create_dir_all(&peers)?;
        shell::run(
            Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(&peers)
                .arg(format!("{name}@{version}")),
        )?;
    }
    shell::run(&mut shell::cargo(&[
        "build",
        "--quiet",
        "--release",
        "--package",
        "tramline",
    ]))?;
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features graphs --bin tramline-bench-graphs";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let measures = paths::target().join("release/tramline-bench-graphs");
    shell::run(
        Command::new(measures)
            .arg("--peer")
            .arg(program)
            .args(arguments),
    )
}

fn control(arguments: &[String]) -> Result<()> {
    let venv = paths::target().join("bench/venv");
    let python = venv.join("bin/python");
    let stamp = venv.join("engines");
    let wanted = ENGINES.join("\n");
    if !std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        shell::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&venv),
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        shell::run(Command::new(&python).args(pip).args(ENGINES))?;
        std::fs::write(&stamp, wanted)?;
    }
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features control --bin tramline-bench-control";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let measures = paths::target().join("release/tramline-bench-control");
    shell::run(
        Command::new(measures)
            .arg("--python")
            .arg(python)
            .args(arguments),
    )
}

fn loop_bench(arguments: &[String]) -> Result<()> {
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features loop --bin tramline-bench-loop";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let measures = paths::target().join("release/tramline-bench-loop");
    shell::run(Command::new(measures).args(arguments))
}

fn search(arguments: &[String]) -> Result<()> {
    let data = paths::shared().join("data");
    ensure!(
        data.join("retrieval").is_dir(),
        "no data in {}; set TRAMLINE_SHARED to its directory",
        data.display()
    );
    let encoder = setup::encoder()?;
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features search --bin tramline-bench-search";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    shell::run(
        Command::new(paths::target().join("release/tramline-bench-search"))
            .arg("--data")
            .arg(data)
            .arg("--encoder")
            .arg(encoder)
            .arg("--keep")
            .arg(paths::target().join("bench"))
            .args(arguments),
    )
}

fn planner(arguments: &[String]) -> Result<()> {
    let data = paths::shared().join("data");
    ensure!(
        data.join("planning").is_dir(),
        "no data in {}; set TRAMLINE_SHARED to its directory",
        data.display()
    );
    let encoder = setup::encoder()?;
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features planner --bin tramline-bench-planner";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    shell::run(
        Command::new(paths::target().join("release/tramline-bench-planner"))
            .arg("--data")
            .arg(data)
            .arg("--encoder")
            .arg(encoder)
            .arg("--keep")
            .arg(paths::target().join("bench"))
            .args(arguments),
    )
}
