//! Development tasks, one file per command: `cargo xtask help` lists them.
//!
//! Contributors and CI run everything through here, so that both run the same.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Result, bail};
use std::process::ExitCode;

mod bench;
mod counts;
mod docs;
mod fuzz;
mod limits;
mod paths;
mod release;
mod schemas;
mod setup;
mod shell;
mod soak;
mod studio;
mod supply;
mod test;
mod tidy;

/// A command.
struct XtaskCommand {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[XtaskCommand] = &[
    XtaskCommand {
        name: "setup",
        help: "install what the tests need into target/tools; fast if already done",
        run: setup::run,
    },
    XtaskCommand {
        name: "test",
        help: "run everything that must pass before a change lands; --quick: no setup, no deny",
        run: test::run,
    },
    XtaskCommand {
        name: "bench",
        help: "measure: `bench engine [--json] [PART…]`, `bench expr [--json]`, `bench search [--json] [--calibrate]`\n            \
               print each figure with its target; `bench peers [--quick] [--only 1,3] [--render]` writes docs/benchmarks.md",
        run: bench::run,
    },
    XtaskCommand {
        name: "counts",
        help: "check the instruction counts of the engine's hot path; --write: record new counts",
        run: counts::run,
    },
    XtaskCommand {
        name: "tidy",
        help: "check the project: architecture map, crate dependencies, error pages, glossary, files, examples",
        run: tidy::run,
    },
    XtaskCommand {
        name: "limits",
        help: "write the table of every limit in the code to docs/limits.md",
        run: limits::run,
    },
    XtaskCommand {
        name: "schemas",
        help: "write the generated JSON Schemas to schemas/",
        run: schemas::run,
    },
    XtaskCommand {
        name: "docs",
        help: "build the documentation as a site in target/docs, with mdBook;\n            \
               --reference: write docs/reference, which is generated from the program",
        run: docs::run,
    },
    XtaskCommand {
        name: "studio",
        help: "build the studio into the crate that serves it; --pictures: take the screenshots in docs/images",
        run: studio::run,
    },
    XtaskCommand {
        name: "fuzz",
        help: "fuzz the parsers of untrusted input: the named targets or all; --minutes N for each, --jobs N at once",
        run: fuzz::run,
    },
    XtaskCommand {
        name: "sbom",
        help: "print the binary's bill of materials as CycloneDX; --target TRIPLE, --output FILE",
        run: supply::sbom,
    },
    XtaskCommand {
        name: "advisories",
        help: "check Cargo.lock against a copy of the advisory database, if there is one",
        run: supply::check_advisories,
    },
    XtaskCommand {
        name: "supply-chain",
        help: "write the tables of docs/supply-chain.md",
        run: supply::write_page,
    },
    XtaskCommand {
        name: "release",
        help: "build every package into dist/, install each into an empty place and run it; nothing is published;\n            \
               --binary PATH, --only NAME,…, --registry-schema FILE, --json",
        run: release::run,
    },
    XtaskCommand {
        name: "soak",
        help: "crash: kill the program at random moments; nothing may be lost; --kills N, --seed N, --debug\n            \
               hostile: attack it; nothing may break or leak; --minutes N, --seed N, --only TEXT, --json, --debug\n            \
               expr: compare expressions with the reference; --expressions N, --mutations N, --seed N",
        run: soak::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        help();
        bail!("name a command");
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        help();
        return Ok(());
    }
    match COMMANDS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => {
            help();
            bail!("unknown command `{name}`");
        }
    }
}

fn help() {
    println!("cargo xtask COMMAND\n");
    for XtaskCommand { name, help, .. } in COMMANDS {
        println!("  {name:<14}{help}");
    }
}

/// Whether `flag` is among the arguments; any other argument is an error.
fn only_flag(arguments: &[String], flag: &str) -> Result<bool> {
    match arguments.iter().find(|given| *given != flag) {
        Some(unknown) => bail!("unknown argument `{unknown}`; only `{flag}` is accepted"),
        None => Ok(!arguments.is_empty()),
    }
}

/// Rejects arguments for a command that takes none.
fn no_arguments(arguments: &[String]) -> Result<()> {
    match arguments.first() {
        Some(unknown) => bail!("unexpected argument `{unknown}`: this command takes none"),
        None => Ok(()),
    }
}
