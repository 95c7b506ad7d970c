//! Every seed of the fuzz targets that need more than the core, and slightly damaged copies, as
//! plain tests: the fuzzer's checks hold for them in every build. The others are in the tests of
//! `tramline-views`.

use std::path::Path;

#[path = "../../../../fuzz/checks/client_wire.rs"]
mod client_wire;
#[path = "../../../../fuzz/checks/config_file.rs"]
mod config_file;
#[path = "../../../../fuzz/checks/http_front.rs"]
mod http_front;
#[path = "../../../../fuzz/checks/mcp_config.rs"]
mod mcp_config;
#[path = "../../../../fuzz/checks/places.rs"]
mod places;
#[path = "../../../../fuzz/checks/redactor.rs"]
mod redactor;
#[path = "../../../../fuzz/checks/run_import.rs"]
mod run_import;
#[path = "../../../../fuzz/checks/server_stdio.rs"]
mod server_stdio;
#[path = "../../../../fuzz/checks/serving.rs"]
mod serving;

/// Runs a check on every seed, and on damaged copies of it where that is cheap.
fn run(target: &str, damages: usize, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut seeds = 0;
    for entry in std::fs::read_dir(dir.join(target)).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        check(&bytes);
        for number in 0..damages {
            check(&damaged(&bytes, number));
        }
        seeds += 1;
    }
    assert!(seeds > 0, "{target} has no seeds");
}

/// The same bytes with a part removed, doubled, swapped or inserted: deterministic for a number.
fn damaged(bytes: &[u8], number: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    let at = number.wrapping_mul(2_654_435_761) % bytes.len();
    match number % 5 {
        0 => bytes.truncate(at),
        1 => bytes.extend_from_within(at..),
        2 => bytes[at] ^= 1 << (number % 8),
        3 => bytes.insert(at, b"{}[]:,\"'&*|\n\t\0\xff"[number % 15]),
        _ => drop(bytes.remove(at)),
    }
    bytes
}

#[test]
fn configurations_and_files_of_runs_are_read_or_refused() {
    run("config_file", 200, config_file::check);
    run("mcp_config", 200, mcp_config::check);
    run("run_import", 60, run_import::check);
}

#[test]
fn no_secret_passes_the_redactor() {
    run("redactor", 100, redactor::check);
}

#[test]
fn framing_holds_over_pipes_and_http() {
    run("client_wire", 100, client_wire::check);
    run("server_stdio", 10, server_stdio::check);
    run("http_front", 0, http_front::check);
}
