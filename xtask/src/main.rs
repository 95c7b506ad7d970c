//! Development tasks, one file per verb: `cargo xtask help` lists them.
//!
//! Everything a contributor or CI needs to run goes through here, so that both run the same.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line speaks on its standard streams"
)]

use anyhow::{Result, bail};
use std::process::ExitCode;

mod bench;
mod counts;
mod fuzz;
mod limits;
mod paths;
mod schemas;
mod setup;
mod shell;
mod soak;
mod studio;
mod supply;
mod test;
mod tidy;

/// A verb of the command line.
struct Verb {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "setup",
        help: "install what the tests need into target/tools; quick when it is there",
        run: setup::run,
    },
    Verb {
        name: "test",
        help: "everything that must pass before a change lands; --quick: no setup, no deny",
        run: test::run,
    },
    Verb {
        name: "bench",
        help: "measure: `bench engine [--json] [PART…]`, `bench expr [--json]`, `bench search [--json] [--calibrate]`\n            \
               print each figure with its aim; `bench peers [--quick] [--only 1,3] [--render]` writes docs/benchmarks.md",
        run: bench::run,
    },
    Verb {
        name: "counts",
        help: "hold the instructions of the engine's hot path to their bounds; --write: take them as the new bounds",
        run: counts::run,
    },
    Verb {
        name: "tidy",
        help: "check the house: map, arrows, error pages, glossary, files, examples",
        run: tidy::run,
    },
    Verb {
        name: "limits",
        help: "write the table of every bound in the code to docs/limits.md",
        run: limits::run,
    },
    Verb {
        name: "schemas",
        help: "write the generated JSON Schemas to schemas/",
        run: schemas::run,
    },
    Verb {
        name: "studio",
        help: "build the studio's page into the crate that serves it; --pictures: take docs/images from it",
        run: studio::run,
    },
    Verb {
        name: "fuzz",
        help: "fuzz what reads other people's text: a target or all of them; --minutes N for each",
        run: fuzz::run,
    },
    Verb {
        name: "sbom",
        help: "print the binary's bill of materials as CycloneDX; --target TRIPLE, --output FILE",
        run: supply::sbom,
    },
    Verb {
        name: "advisories",
        help: "hold Cargo.lock against a copy of the advisory database, if there is one",
        run: supply::check_advisories,
    },
    Verb {
        name: "supply-chain",
        help: "write the tables of docs/supply-chain.md",
        run: supply::write_page,
    },
    Verb {
        name: "soak",
        help: "crash: kill the program at random moments, nothing may be lost; --kills N, --seed N, --debug\n            \
               hostile: attack it, nothing may break or leak; --minutes N, --seed N, --only TEXT, --json, --debug\n            \
               expr: expressions against their reference; --expressions N, --mutations N, --seed N",
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
        bail!("name a verb");
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        help();
        return Ok(());
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => {
            help();
            bail!("there is no verb `{name}`");
        }
    }
}

fn help() {
    println!("cargo xtask VERB\n");
    for Verb { name, help, .. } in VERBS {
        println!("  {name:<14}{help}");
    }
}

/// Whether `flag` is among the arguments; any other argument is an error.
fn only_flag(arguments: &[String], flag: &str) -> Result<bool> {
    match arguments.iter().find(|given| *given != flag) {
        Some(unknown) => bail!("`{unknown}` is not known here; `{flag}` is"),
        None => Ok(!arguments.is_empty()),
    }
}

/// Refuses arguments where a verb takes none.
fn no_arguments(arguments: &[String]) -> Result<()> {
    match arguments.first() {
        Some(unknown) => bail!("`{unknown}`: this verb takes no arguments"),
        None => Ok(()),
    }
}
