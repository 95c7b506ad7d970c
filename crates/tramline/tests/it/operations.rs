//! Day 2: `doctor`, `backup` and `self-check`, and the files for operators in `packaging`.

use crate::support::{CommandResult, Tramline, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

fn parsed(done: &CommandResult) -> Value {
    serde_json::from_str(&done.out())
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.out(), done.err()))
}

/// A data directory with a finished run, one that waits for a person, a secret and a saved workflow.
fn used() -> Tramline {
    let tramline = Tramline::new();
    let files = tramline.data.path().join("files");
    fs::create_dir(&files).unwrap();
    let files = files.to_str().unwrap();
    for (words, code) in [
        (
            vec![
                "run",
                "examples/graphs/file_utils.yaml",
                "count_files",
                "directory=examples/data",
            ],
            0,
        ),
        (
            vec![
                "run",
                "examples/graphs/approval.yaml",
                "path=n.txt",
                "text=hi",
                "--root",
                files,
            ],
            4,
        ),
        (
            vec!["settings", "set", "API_KEY", "correct-horse-staple-42"],
            0,
        ),
        (
            vec![
                "library",
                "save",
                "examples/graphs/file_utils.yaml",
                "--tool",
                "count_files",
                "--name",
                "count-files",
            ],
            0,
        ),
    ] {
        let done = tramline.run(&words);
        assert_eq!(done.code(), code, "{words:?}: {}", done.err());
    }
    tramline
}

/// What a directory contains, to see whether it was changed. Readers rebuild SQLite's index of the log, and may create an
/// empty log.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let files = ["tramline.db", "tramline.db-wal", "settings.key"];
    let read = |name: &str| Some((name.to_owned(), fs::read(dir.join(name)).ok()?));
    let found = files.into_iter().filter_map(read);
    found.filter(|(_, bytes)| !bytes.is_empty()).collect()
}

#[track_caller]
fn assert_unchanged(dir: &Path, before: &[(String, Vec<u8>)]) {
    let after = contents(dir);
    let sizes = |files: &[(String, Vec<u8>)]| -> Vec<_> {
        let sizes = files
            .iter()
            .map(|(name, bytes)| (name.clone(), bytes.len()));
        sizes.collect()
    };
    let (was, is) = (sizes(before), sizes(&after));
    assert!(
        after == before,
        "the data directory was changed: {was:?} to {is:?}"
    );
}

fn finding<'f>(report: &'f Value, what: &str) -> &'f Value {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["what"] == what);
    found.unwrap_or_else(|| panic!("no finding about {what}: {report:#}"))
}

#[test]
fn doctor_tells_sizes_runs_key_clock_and_clients() {
    let tramline = used();
    let home = tramline.data.path().join("home");
    fs::create_dir(&home).unwrap();
    let doctor = |words: &[&str]| {
        let mut command = tramline.command(words);
        command.env("HOME", &home).env_remove("XDG_CONFIG_HOME");
        CommandResult(command.output().unwrap())
    };
    let done = doctor(&["doctor", "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 0, "{report:#}");
    let data = &report["data"];
    assert!(data["database_bytes"].as_u64().unwrap() > 8_000, "{data}");
    assert_eq!(data["layout"], data["layout_supported"]);
    assert!(data["disk_free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(report["runs"]["paused"], 1, "{report:#}");
    assert_eq!(report["runs"]["interrupted"], 0);
    assert_eq!(report["key_file"]["mode"], "600");
    assert_eq!(report["clock"]["is_behind"], false);
    assert_eq!(report["clients"], Value::Array(Vec::new()));
    assert!(
        finding(&report, "servers")["says"]
            .as_str()
            .unwrap()
            .contains("none to check")
    );
    let installed = doctor(&[
        "mcp",
        "install",
        "cursor",
        "examples/graphs/file_utils.yaml",
    ]);
    assert_eq!(installed.code(), 0, "{}", installed.err());
    let report = parsed(&doctor(&["doctor", "--json"]));
    assert_eq!(report["clients"][0]["client"], "cursor", "{report:#}");
    let text = doctor(&["doctor"]).out();
    for part in [
        "layout 2 of 2",
        "1 waiting for an answer",
        "(mode 600)",
        "client cursor",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn doctor_names_a_key_that_others_can_read_and_a_clock_that_is_behind() {
    use std::os::unix::fs::PermissionsExt as _;
    let tramline = used();
    let key = tramline.data_dir().join("settings.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let late = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
                c.execute('UPDATE runs SET updated_ms = updated_ms + 86400000')\nc.commit()";
    let database = tramline.data_dir().join("tramline.db");
    let changed = Command::new("python3")
        .args(["-c", late])
        .arg(database)
        .status();
    assert!(changed.unwrap().success());
    let done = tramline.run(&["doctor", "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 1, "{report:#}");
    let key = finding(&report, "key file");
    assert_eq!(key["ok"], false);
    assert!(key["says"].as_str().unwrap().contains("chmod 600"), "{key}");
    let clock = finding(&report, "clock");
    assert_eq!(clock["ok"], false);
    assert!(
        clock["says"]
            .as_str()
            .unwrap()
            .contains("before the newest"),
        "{clock}"
    );
    assert_eq!(report["clock"]["is_behind"], true);
}

#[test]
fn a_backup_can_be_restored_with_its_key() {
    let tramline = used();
    let copies = tramline.data.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let done = tramline.run(&["backup", copies.to_str().unwrap(), "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 0, "{report:#}");
    assert_eq!(report["runs"], 2);
    assert_eq!(report["key_file"]["exists"], true);
    assert_eq!(report["key_file"]["copy"], Value::Null);
    let file = report["file"].as_str().unwrap();
    let name = Path::new(file).file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("tramline-20") && name.ends_with(".db"),
        "{name}"
    );
    let named = tramline.data.path().join("one.db");
    let named = named.to_str().unwrap();
    let done = tramline.run(&["backup", named, "--include-key"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    let key = fs::read(tramline.data_dir().join("settings.key")).unwrap();
    assert_eq!(fs::read(format!("{named}.key")).unwrap(), key);
    // A backup never replaces anything.
    let again = tramline.run(&["backup", named]);
    assert_eq!(again.code(), 1);
    assert!(again.err().contains("exists already"), "{}", again.err());
    // What happens later is not in it, and the run that waits can be answered from it.
    let restored = Tramline::new();
    fs::create_dir(restored.data_dir()).unwrap();
    fs::copy(named, restored.data_dir().join("tramline.db")).unwrap();
    let key = restored.data_dir().join("settings.key");
    fs::copy(format!("{named}.key"), &key).unwrap();
    let listed = parsed(&restored.run(&["runs", "--json"]));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "{listed:#}");
    let paused = listed["runs"].as_array().unwrap();
    let paused = paused.iter().find(|run| run["status"] == "paused").unwrap();
    let answered = restored.run(&["runs", "reject", paused["run_id"].as_str().unwrap()]);
    assert!(!answered.err().contains("damaged"), "{}", answered.err());
    assert_eq!(restored.run(&["doctor", "--deep"]).code(), 0);
    let secret = restored.run(&["settings", "get", "API_KEY"]);
    assert_eq!(secret.code(), 0, "{}", secret.err());
    assert!(
        restored
            .run(&["library", "list"])
            .out()
            .contains("count-files")
    );
}

#[test]
fn there_is_nothing_to_back_up_before_the_first_run() {
    let tramline = Tramline::new();
    let target = tramline.data.path().join("b.db");
    let done = tramline.run(&["backup", target.to_str().unwrap()]);
    assert_eq!(done.code(), 2);
    assert!(done.err().contains("nothing to back up"), "{}", done.err());
    assert!(!target.exists() && !tramline.data_dir().exists());
}

#[test]
fn self_check_reads_a_copy_and_leaves_the_original_alone() {
    let tramline = used();
    let temp = tramline.data.path().join("temp");
    fs::create_dir(&temp).unwrap();
    let temp = temp.to_str().unwrap();
    let before = contents(&tramline.data_dir());
    let done = tramline.run(&["self-check", "--temp-dir", temp, "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 0, "{report:#}");
    assert_unchanged(&tramline.data_dir(), &before);
    assert_eq!(
        fs::read_dir(temp).unwrap().count(),
        0,
        "the copy is removed"
    );
    assert_eq!(report["layout"]["stored"], report["layout"]["supported"]);
    assert!(
        finding(&report, "stored data")["says"]
            .as_str()
            .unwrap()
            .starts_with("2 runs")
    );
    assert_eq!(finding(&report, "settings")["says"], "1 can be read");
    assert_eq!(finding(&report, "saved workflows")["says"], "1 can be used");
    let nowhere = Tramline::new();
    assert_eq!(nowhere.run(&["self-check"]).code(), 0);
    assert!(!nowhere.data_dir().exists());
}

#[test]
fn self_check_lists_what_cannot_be_read() {
    let tramline = used();
    let break_all = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
        c.execute('UPDATE chunks SET body = zeroblob(length(body)) WHERE journal = (SELECT min(key) FROM runs)')\n\
        c.execute('UPDATE documents SET body = ? WHERE kind = ? AND key = ?', (b'{}', 'workflow', 'count-files'))\n\
        c.commit()";
    let database = tramline.data_dir().join("tramline.db");
    let broken = Command::new("python3")
        .args(["-c", break_all])
        .arg(&database)
        .status();
    assert!(broken.unwrap().success());
    // Nor does the key fit.
    fs::remove_file(tramline.data_dir().join("settings.key")).unwrap();
    let before = contents(&tramline.data_dir());
    let done = tramline.run(&["self-check", "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 1, "{report:#}");
    assert_unchanged(&tramline.data_dir(), &before);
    let wrong = report["findings"].as_array().unwrap().iter();
    let wrong: Vec<_> = wrong
        .filter(|finding| finding["ok"] == false)
        .map(|finding| finding["what"].as_str().unwrap().to_owned())
        .collect();
    for start in ["run_", "setting API_KEY", "saved workflow count-files"] {
        assert!(
            wrong.iter().any(|what| what.starts_with(start)),
            "{start}: {wrong:?}"
        );
    }
}

#[test]
fn self_check_of_data_from_a_newer_version_says_so_and_changes_nothing() {
    let tramline = used();
    let newer = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
                 c.execute('PRAGMA user_version = 99')\nc.commit()";
    let database = tramline.data_dir().join("tramline.db");
    let changed = Command::new("python3")
        .args(["-c", newer])
        .arg(&database)
        .status();
    assert!(changed.unwrap().success());
    let before = contents(&tramline.data_dir());
    let done = tramline.run(&["self-check", "--json"]);
    let report = parsed(&done);
    assert_eq!(done.code(), 1, "{report:#}");
    assert_unchanged(&tramline.data_dir(), &before);
    let layout = finding(&report, "layout")["says"].as_str().unwrap();
    assert!(layout.contains("newer Tramline"), "{layout}");
    assert_eq!(report["layout"]["stored"], 99);
}

fn packaged(path: &str) -> String {
    fs::read_to_string(root().join("packaging").join(path)).unwrap()
}

/// The command line of a unit, with its paths in a directory of this test.
fn exec_start(unit: &str, state: &Path) -> Vec<String> {
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let line = line
        .unwrap()
        .replace("/var/lib/tramline", state.to_str().unwrap());
    line.split_whitespace().skip(1).map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn the_service_starts_answers_and_ends_as_its_unit_says() {
    let tramline = Tramline::new();
    let state = tramline.data.path().join("state");
    for dir in ["runs", "files", "backups"] {
        fs::create_dir_all(state.join(dir)).unwrap();
    }
    let mut words = exec_start(&packaged("systemd/tramline.service"), &state);
    let address = words
        .iter()
        .position(|word| word == "127.0.0.1:8080")
        .unwrap();
    "127.0.0.1:0".clone_into(&mut words[address]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut serving = tramline
        .command(&words)
        .env("TRAMLINE_DATA_DIR", state.join("runs"))
        .env("TRAMLINE_TOKEN", "0123456789abcdef0123456789abcdef")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(serving.stderr.take().unwrap()));
    let line = lines
        .find(|line| line.as_ref().is_ok_and(|line| line.contains("serving at")))
        .unwrap();
    let line = line.unwrap();
    let address = line
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A backup while it runs, as the timer makes it.
    let backup = exec_start(&packaged("systemd/tramline-backup.service"), &state);
    let backup: Vec<&str> = backup.iter().map(String::as_str).collect();
    let mut backup = tramline.command(&backup);
    let backup = backup
        .env("TRAMLINE_DATA_DIR", state.join("runs"))
        .output()
        .unwrap();
    assert!(backup.status.success(), "{backup:?}");
    assert_eq!(fs::read_dir(state.join("backups")).unwrap().count(), 1);
    let pid = nix::unistd::Pid::from_raw(serving.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = serving.wait().unwrap();
    assert!([Some(0), Some(130)].contains(&ended.code()), "{ended}");
}

/// Whether systemd accepts the units, where its tool is installed.
#[cfg(target_os = "linux")]
#[test]
fn the_units_are_valid() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut units = Vec::new();
    for name in [
        "tramline.service",
        "tramline-backup.service",
        "tramline-backup.timer",
    ] {
        let unit = packaged(&format!("systemd/{name}"));
        // The package is not installed here.
        let unit = unit.replace("/usr/bin/tramline", env!("CARGO_BIN_EXE_tramline"));
        let path = dir.path().join(name);
        fs::write(&path, unit).unwrap();
        units.push(path);
    }
    let verified = Command::new("systemd-analyze")
        .arg("verify")
        .args(&units)
        .output();
    let verified = verified.unwrap();
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    // Other units of this machine are not ours.
    let ours: Vec<_> = said
        .lines()
        .filter(|line| line.contains("tramline"))
        .collect();
    assert!(ours.is_empty(), "{said}");
}

/// The metrics of the program as Prometheus names them, without the endings of histograms and counters.
fn metric_names() -> BTreeSet<String> {
    let source =
        fs::read_to_string(root().join("crates/tramline-telemetry/src/metrics.rs")).unwrap();
    let texts = source.split('"').skip(1).step_by(2);
    let named = texts.filter(|text| {
        ["tramline.", "mcp.", "gen_ai."]
            .iter()
            .any(|start| text.starts_with(start))
            && !text.contains(' ')
    });
    named.map(|name| name.replace('.', "_")).collect()
}

/// The names in a query that look like metrics or labels of ours.
fn names(query: &str) -> BTreeSet<String> {
    let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| {
        ["tramline_", "mcp_", "gen_ai_"]
            .iter()
            .any(|start| word.starts_with(start))
    });
    let base = |name: &str| {
        let mut name = name;
        for end in ["_bucket", "_count", "_sum", "_total", "_seconds"] {
            name = name.strip_suffix(end).unwrap_or(name);
        }
        name.to_owned()
    };
    ours.map(base).collect()
}

#[test]
fn the_board_and_the_alerts_use_metrics_that_exist() {
    let known = metric_names();
    let board: Value =
        serde_json::from_str(&packaged("monitoring/grafana-dashboard.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    assert!(panels.len() >= 10);
    let mut used = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(
            ids.insert(panel["id"].as_u64().unwrap()),
            "two panels have one id"
        );
        for key in ["title", "description"] {
            assert!(!panel[key].as_str().unwrap().is_empty(), "{panel}");
        }
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        used.extend(
            targets
                .iter()
                .flat_map(|target| names(target["expr"].as_str().unwrap())),
        );
    }
    let alerts = packaged("monitoring/tramline-alerts.yml");
    let expressions = alerts.lines().filter(|line| {
        line.contains("_total") || line.contains("_seconds") || line.contains("_runs_")
    });
    used.extend(expressions.flat_map(names));
    for name in &used {
        assert!(known.contains(name), "{name} is not a metric: {known:?}");
    }
    // A board that leaves a metric out hides it.
    let unused: Vec<_> = known
        .iter()
        .filter(|name| name.starts_with("tramline_") && !used.contains(*name))
        .collect();
    assert!(
        unused.is_empty() || unused == ["tramline_server"],
        "{unused:?}"
    );
}

/// Whether Prometheus accepts the rules, where its tool is installed.
#[test]
fn the_alerts_are_valid_rules() {
    if Command::new("promtool").arg("--version").output().is_err() {
        return;
    }
    for (words, file) in [
        (&["check", "rules"][..], "tramline-alerts.yml"),
        (&["check", "config", "--syntax-only"][..], "prometheus.yml"),
    ] {
        let path = root().join("packaging/monitoring").join(file);
        let checked = Command::new("promtool")
            .args(words)
            .arg(path)
            .output()
            .unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
}
