//! The first pages that a user reads: their commands run as written, and their tables are current.

use crate::support::{CommandResult, Tramline, root};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// The lines of all blocks for a shell.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks
        .flat_map(|block| block.lines().map(str::to_owned))
        .collect()
}

/// A person at a keyboard: a home directory, and where they are.
struct Visitor {
    tramline: Tramline,
    at: PathBuf,
}

impl Visitor {
    fn new() -> Self {
        let tramline = Tramline::new();
        let at = tramline.data.path().join("home");
        fs::create_dir(&at).unwrap();
        Self { tramline, at }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.tramline.command(words);
        let home = self.tramline.data.path().join("home");
        command.current_dir(&self.at).env("HOME", home);
        for name in [
            "XDG_CONFIG_HOME",
            "CLAUDE_CONFIG_DIR",
            "DISPLAY",
            "WAYLAND_DISPLAY",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Types a line.
    fn type_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["cd", folder] => self.at = self.at.join(folder),
            ["tramline", "studio", ..] => self.open_studio(&words[1..]),
            ["tramline", rest @ ..] => {
                let latest = rest.contains(&"RUN").then(|| self.latest_run());
                let fill = |word: &&str| match *word {
                    "RUN" => latest.clone().unwrap_or_default(),
                    word => word.to_owned(),
                };
                let words: Vec<String> = rest.iter().map(fill).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let done = CommandResult(self.command(&words).output().unwrap());
                // A run that waits for a person ends with 4 where there is no terminal.
                let expected = if line.contains("report.yaml directory") {
                    4
                } else {
                    0
                };
                assert_eq!(
                    done.code(),
                    expected,
                    "{line}: {} {}",
                    done.out(),
                    done.err()
                );
            }
            other => panic!("unknown command {other:?}"),
        }
    }

    fn latest_run(&self) -> String {
        CommandResult(self.command(&["trace", "latest"]).output().unwrap()).text("run_id")
    }

    /// Opens the studio, waits for its address, and ends it.
    fn open_studio(&self, words: &[&str]) {
        let mut command = self.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut studio = command.spawn().unwrap();
        let (send, addresses) = std::sync::mpsc::channel();
        let (out, err) = (studio.stdout.take().unwrap(), studio.stderr.take().unwrap());
        let other = send.clone();
        let is_address = |line: &String| line.contains("http://");
        let reader = std::thread::spawn(move || {
            let found = BufReader::new(out)
                .lines()
                .map_while(Result::ok)
                .find(is_address);
            found.map(|line| other.send(line))
        });
        let errors = std::thread::spawn(move || {
            let found = BufReader::new(err)
                .lines()
                .map_while(Result::ok)
                .find(is_address);
            found.map(|line| send.send(line))
        });
        let address = addresses.recv();
        studio.kill().unwrap();
        studio.wait().unwrap();
        let _ = (reader.join(), errors.join());
        assert!(address.is_ok(), "the studio said no address");
    }
}

#[test]
fn the_quickstart_runs_as_it_is_written() {
    let mut visitor = Visitor::new();
    let lines = commands(&page("quickstart.md"));
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        visitor.type_line(&line);
    }
    let report = visitor.at.join("report.md");
    assert!(report.is_file(), "{}", report.display());
}

/// The rows of the table between two marks, as lists of cells.
fn table(page: &str, name: &str) -> Vec<Vec<String>> {
    let rest = page.split(&format!("<!-- {name} -->")).nth(1).unwrap();
    let rows = rest.split(&format!("<!-- /{name} -->")).next().unwrap();
    let cells = |row: &str| {
        let row = row.trim().trim_matches('|');
        row.split('|')
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    rows.trim().lines().skip(2).map(cells).collect()
}

#[test]
fn the_gallery_is_listed_completely() {
    let listed = Tramline::new().run(&["init", "--list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out()).unwrap();
    let expected = listed["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| {
            let name = template["name"].as_str().unwrap();
            let link = format!("[{name}](../crates/tramline/templates/{name}/README.md)");
            vec![link, template["title"].as_str().unwrap().to_owned()]
        });
    assert_eq!(
        table(&page("quickstart.md"), "gallery"),
        expected.collect::<Vec<_>>()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_clients_are_listed_with_their_files() {
    let visitor = Visitor::new();
    let home = visitor.at.to_str().unwrap().to_owned();
    let listed = CommandResult(
        visitor
            .command(&["mcp", "list", "--json"])
            .output()
            .unwrap(),
    );
    let listed: Value = serde_json::from_str(&listed.out()).unwrap();
    let listed = listed["clients"].as_array().unwrap();
    let rows = table(&page("clients.md"), "clients");
    let mut seen = 0;
    for row in &rows {
        let file = |scope: &str| {
            let mut found = listed
                .iter()
                .filter(|one| one["client"] == *row[0] && one["scope"] == scope);
            let one = found.next()?;
            assert_eq!(one["title"], *row[1]);
            seen += 1;
            one["file"].as_str().map(str::to_owned)
        };
        let mut file = file;
        let user = file("user").unwrap().replace(&home, "~");
        assert_eq!(user, row[2], "{}", row[0]);
        let project = file("project");
        let project = project.map(|path| {
            Path::new(&path)
                .strip_prefix(&home)
                .unwrap()
                .display()
                .to_string()
        });
        assert_eq!(project.as_deref().unwrap_or("—"), row[3], "{}", row[0]);
    }
    assert_eq!(seen, listed.len());
}
