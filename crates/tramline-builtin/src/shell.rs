//! `shell`: a command of the operating system. Off until the operator allows it.
//!
//! It runs in an allowed directory, with a minimal environment. However a call or this process
//! ends, nothing that the command started is left behind.

use crate::arguments::{Arguments, bad_arguments};
use crate::describe;
use crate::roots::Roots;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::{Map, Value};
use tramline_process::{ProcessTree, TreeCommand};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::text::{RedactText, io_reason};

/// How many characters of the last line of standard error are shown in the failure.
const STDERR_CHARS_SHOWN: usize = 300;

/// The most a command may print to each of its outputs, in bytes: it goes into the journal.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;
/// The longest command, in bytes.
const COMMAND_BYTES_MAX: usize = 1 << 20;
/// The variables that a command inherits.
const INHERITED_VARIABLES: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];
/// The default of `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) fn tool() -> (&'static str, Tool) {
    describe(
        "shell",
        "Runs a command with /bin/sh in an allowed directory. Off until the operator allows it. \
         An exit code other than 0 is a failure unless ignore_errors is true; JSON on standard \
         output is also returned parsed, under json.",
        ToolHints {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(true),
        },
    )
}

/// A command to run.
struct ShellCommand<'a> {
    command: &'a str,
    stdin: Option<String>,
    directory: PathBuf,
    env: Vec<(&'a str, String)>,
    ignore_errors: bool,
    strip_newline: bool,
}

impl<'a> ShellCommand<'a> {
    fn read(roots: &Roots, values: &'a Value) -> Result<Self, Failure> {
        let known = [
            "command",
            "stdin",
            "cwd",
            "env",
            "ignore_errors",
            "strip_newline",
        ];
        let given = Arguments::new("shell", values, &known)?;
        let command = given.text("command")?;
        if command.len() > COMMAND_BYTES_MAX || command.contains('\0') {
            let message = format!("shell: a command may have at most {COMMAND_BYTES_MAX} bytes");
            return Err(bad_arguments(message));
        }
        let mut env = Vec::new();
        if let Some(named) = given.any("env") {
            let named = named
                .as_object()
                .ok_or_else(|| given.wrong_type("env", "an object"))?;
            for (name, value) in named.iter() {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let text = as_text(value);
                if name.is_empty() || !name.chars().all(plain) || text.contains('\0') {
                    return Err(bad_arguments(format!(
                        "shell: invalid name `{name}` in `env`"
                    )));
                }
                env.push((name.as_str(), text));
            }
        }
        let keeps = given.any("strip_newline").is_some() && !given.flag("strip_newline")?;
        Ok(Self {
            command,
            stdin: given.any("stdin").map(as_text),
            directory: roots.directory(given.text_or("cwd", ".")?)?,
            env,
            ignore_errors: given.flag("ignore_errors")?,
            strip_newline: !keeps,
        })
    }

    fn start(&self) -> Result<ProcessTree, Failure> {
        let mut tree = TreeCommand::new(OsStr::new("/bin/sh"), Duration::ZERO);
        let command = tree.command();
        command.arg("-c").arg(self.command);
        command.current_dir(&self.directory);
        command.env("PATH", DEFAULT_PATH);
        for name in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(match self.stdin {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        tree.spawn().map_err(|error| {
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot start /bin/sh: {error}"),
            )
        })
    }
}

/// A value as the text that a command sees.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_json(),
    }
}

/// What a command may use.
pub(crate) struct ShellAccess<'a> {
    pub(crate) allowed: bool,
    pub(crate) roots: &'a Roots,
    pub(crate) redact: &'a RedactText,
}

pub(crate) async fn call(
    access: ShellAccess<'_>,
    values: &Value,
    timeout: Duration,
) -> Result<Value, Failure> {
    if !access.allowed {
        let message = "shell is disabled; --allow-shell, or `shell: true` in the configuration \
                       file, enables it";
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    let order = ShellCommand::read(access.roots, values)?;
    let mut tree = order.start()?;
    match tokio::time::timeout(timeout, communicate(&mut tree, order.stdin.as_deref())).await {
        Ok(Ok(printed)) => command_result(&order, printed, access.redact),
        Ok(Err(failure)) => Err(failure),
        Err(_) => {
            let message = format!("the command timed out after {timeout:?} and was killed");
            Err(Failure::new(FailureKind::Timeout, message).after_sending())
        }
    }
}

/// What a command printed, and how it ended.
struct CommandOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: ExitStatus,
}

async fn communicate(
    tree: &mut ProcessTree,
    stdin: Option<&str>,
) -> Result<CommandOutput, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(FailureKind::Tool, format!("shell: {}", io_reason(&error)))
    };
    let (input, output, errors) = tree.streams();
    let say = async {
        if let (Some(mut pipe), Some(text)) = (input, stdin) {
            // A command need not read its input.
            let _ = pipe.write_all(text.as_bytes()).await;
        }
        Ok(())
    };
    // Processes that it left running, which would hold its outputs open, end with it.
    let end = async { tree.wait().await.map_err(failed) };
    let (status, stdout, stderr, ()) = tokio::try_join!(
        end,
        read_bounded(output, "standard output"),
        read_bounded(errors, "standard error"),
        say
    )?;
    Ok(CommandOutput {
        stdout,
        stderr,
        status,
    })
}

async fn read_bounded(
    pipe: Option<impl AsyncRead + Unpin>,
    name: &str,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let read = pipe
            .take(OUTPUT_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .await;
        read.map_err(|error| {
            Failure::new(FailureKind::Tool, format!("{name}: {}", io_reason(&error)))
        })?;
    }
    if bytes.len() as u64 > OUTPUT_BYTES_MAX {
        let message = format!("the command printed more than {OUTPUT_BYTES_MAX} bytes to {name}");
        return Err(Failure::new(FailureKind::BadAnswer, message).after_sending());
    }
    Ok(bytes)
}

/// The start of the last line of a command's standard error.
fn last_line(stderr: &str, redact: &RedactText) -> String {
    // A secret may have several lines, so all of them are redacted before one is chosen.
    let clean = redact.redact(stderr);
    let last = clean.trim_end().lines().last().unwrap_or_default();
    redact.excerpt(last, STDERR_CHARS_SHOWN)
}

fn command_result(
    order: &ShellCommand<'_>,
    printed: CommandOutput,
    redact: &RedactText,
) -> Result<Value, Failure> {
    use std::os::unix::process::ExitStatusExt as _;
    let status = printed.status;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.unwrap_or(-1);
    let (mut stdout, encoding) = match String::from_utf8(printed.stdout) {
        Ok(text) => (text, "utf-8"),
        Err(binary) => (STANDARD.encode(binary.as_bytes()), "base64"),
    };
    if order.strip_newline {
        stdout.truncate(stdout.trim_end_matches(['\n', '\r']).len());
    }
    let stderr = String::from_utf8_lossy(&printed.stderr).into_owned();
    let mut map = Map::new();
    let parsed = stdout.trim_start().starts_with(['{', '[']);
    if let Some(json) = parsed.then(|| Value::from_json(&stdout).ok()).flatten() {
        map.insert("json", json);
    }
    map.insert("stdout", stdout.into());
    map.insert("stderr", stderr.as_str().into());
    map.insert("exit_code", code.into());
    map.insert("encoding", encoding.into());
    let answer = Value::from(map);
    if code == 0 || order.ignore_errors {
        return Ok(answer);
    }
    let said = match last_line(&stderr, redact).as_str() {
        "" => String::new(),
        said => format!(": {said}"),
    };
    let message = format!("the command ended with exit code {code}{said}");
    Err(Failure::new(FailureKind::Tool, message).with_data(answer))
}
