//! The tutorials and the pages for operators: their commands run as they are written, with the output that they show.
//!
//! A comment before a block says what it is: `<!-- file: NAME -->` is a file that the reader saves, `<!-- exit: 4 -->` the
//! exit code of a block of commands, `<!-- output -->` lines that the commands before it printed. In tutorials every
//! block of commands runs, on other pages those with `<!-- exec -->`.

use crate::support::{CommandResult, Tramline, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tutorials that exist at least.
const TUTORIALS_MIN: usize = 5;

/// A block of a page, with the comments before it.
struct Block<'p> {
    language: &'p str,
    body: String,
    marks: BTreeMap<&'p str, &'p str>,
}

/// `<!-- name -->` or `<!-- name: value -->`.
fn mark(line: &str) -> Option<(&str, &str)> {
    let inside = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    Some(inside.split_once(": ").unwrap_or((inside, "")))
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut marks = BTreeMap::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some((name, value)) = mark(line) {
            marks.insert(name, value);
        } else if line.starts_with("```") {
            let language = line.trim_start_matches('`');
            let fence = &line[..line.len() - language.len()];
            let inside: Vec<_> = lines.by_ref().take_while(|line| *line != fence).collect();
            found.push(Block {
                language,
                body: inside.join("\n") + "\n",
                marks: std::mem::take(&mut marks),
            });
        } else if !line.trim().is_empty() {
            marks.clear();
        }
    }
    found
}

/// A reader with a home directory, who types what a page says.
struct Reader {
    tramline: Tramline,
    at: PathBuf,
    /// Everything printed so far, and by the latest commands.
    printed: String,
    latest: String,
}

impl Reader {
    fn new() -> Self {
        let tramline = Tramline::new();
        let at = tramline.data.path().join("home");
        fs::create_dir(&at).unwrap();
        Self {
            tramline,
            at,
            printed: String::new(),
            latest: String::new(),
        }
    }

    /// The id of the latest question that was printed.
    fn checkpoint(&self) -> &str {
        let start = self.printed.rfind("chk_").expect("a question was printed");
        let rest = &self.printed[start..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn latest_run(&self) -> String {
        self.tramline.run(&["trace", "latest"]).text("run_id")
    }

    /// Runs commands like a person who types them, and returns the exit code of the one that failed.
    fn type_block(&mut self, commands: &str) -> i32 {
        let has = |word| commands.split_whitespace().any(|each| each == word);
        let mut commands = commands.to_owned();
        if has("RUN") {
            commands = commands.replace(" RUN", &format!(" {}", self.latest_run()));
        }
        if has("CHECKPOINT") {
            commands = commands.replace("CHECKPOINT", self.checkpoint());
        }
        let home = self.tramline.data.path().join("home");
        let where_file = self.tramline.data.path().join("where");
        // Standard error in its place among the output, as on a terminal.
        let script = format!("exec 2>&1\n{commands}\npwd > '{}'", where_file.display());
        let binary = Path::new(env!("CARGO_BIN_EXE_tramline"));
        let path = std::env::var("PATH").unwrap();
        let done = Command::new("sh")
            .args(["-e", "-c", &script])
            .current_dir(&self.at)
            .env("HOME", home)
            .env(
                "PATH",
                format!("{}:{path}", binary.parent().unwrap().display()),
            )
            .env("TRAMLINE_DATA_DIR", self.tramline.data_dir())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("TRAMLINE_TOKEN")
            .stdin(Stdio::null())
            .output();
        let done = CommandResult(done.unwrap());
        self.latest = done.out();
        self.printed.push_str(&self.latest);
        if let Ok(at) = fs::read_to_string(&where_file) {
            self.at = PathBuf::from(at.trim_end());
        }
        done.code()
    }
}

/// Follows a page; `all` blocks of commands run, or those that are marked.
fn follow(path: &Path, all: bool) {
    let page = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut reader = Reader::new();
    if !all {
        // Operators have runs already.
        let words = [
            "run",
            "examples/graphs/file_utils.yaml",
            "count_files",
            "directory=examples/data",
        ];
        assert_eq!(reader.tramline.run(&words).code(), 0);
    }
    let mut ran = 0;
    for block in blocks(&page) {
        if let Some(file) = block.marks.get("file") {
            fs::write(reader.at.join(file), &block.body).unwrap();
        } else if block.language == "sh" && (all || block.marks.contains_key("exec")) {
            let code = reader.type_block(&block.body);
            let expected = block
                .marks
                .get("exit")
                .map_or(0, |code| code.parse().unwrap());
            assert_eq!(code, expected, "{name}: {}{}", block.body, reader.latest);
            ran += 1;
        } else if block.marks.contains_key("output") {
            for line in block.body.lines() {
                let shown = reader.latest.contains(line.trim());
                assert!(shown, "{name}: `{line}` is not in:\n{}", reader.latest);
            }
        }
    }
    assert!(ran > 0, "{name} has no commands");
}

fn tutorials() -> Vec<PathBuf> {
    let found = fs::read_dir(root().join("docs/tutorials")).unwrap();
    let found = found.map(|entry| entry.unwrap().path());
    found
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

#[cfg(unix)]
#[test]
fn the_tutorials_run_as_they_are_written() {
    let pages = tutorials();
    assert!(pages.len() >= TUTORIALS_MIN, "{pages:?}");
    std::thread::scope(|scope| {
        for page in &pages {
            scope.spawn(move || follow(page, true));
        }
    });
}

#[cfg(unix)]
#[test]
fn operators_back_up_restore_and_upgrade_as_it_is_written() {
    for page in ["backup.md", "upgrade.md"] {
        follow(&root().join("docs").join(page), false);
    }
}

#[test]
fn blocks_have_the_comments_before_them() {
    let page = "<!-- file: a.md -->\n````markdown\n```sh\nls\n```\n````\n\n<!-- exit: 4 -->\n```sh\nfalse\n```\n\n\
                <!-- exec -->\nText\n```sh\ntrue\n```\n";
    let found: Vec<_> = blocks(page)
        .into_iter()
        .map(|block| (block.language.to_owned(), block.marks.len(), block.body))
        .collect();
    let expected = [
        ("markdown", 1, "```sh\nls\n```\n"),
        ("sh", 1, "false\n"),
        ("sh", 0, "true\n"),
    ];
    let expected =
        expected.map(|(language, marks, body)| (language.to_owned(), marks, body.to_owned()));
    assert_eq!(found, expected);
}
