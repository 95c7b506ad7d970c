//! The files of a hostile soak: documents, configuration and traps inside the agents' root, and
//! files that must not change.

use super::super::seeded_rng::SeededRng;
use super::attack::servers;
use crate::processes::MARK;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Timeout of calls to hostile servers, in milliseconds.
const CALL_MS: u64 = 1_500;

/// The text of a normal call, which must be returned.
pub(super) const NORMAL: &str = "a plain value, and the path of a token";

/// The operator's configuration. Retention has to make room before the quota rejects normal calls,
/// and both together have to keep the data directory within the limit of the soak.
const CONFIG: &str = "policy:\n  ask: [\"bank:*\"]\n\
    quota:\n  disk_bytes: 1073741824\nretention:\n  bytes: 402653184\n";

/// A procedure that allows only `u:echo`.
const PROCEDURE: &str = "---\nagent: guarded\nversion: \"1.0\"\ntools: [\"u:echo\"]\n---\n\n\
    # Guarded\n\n```mermaid\nflowchart TD\n    START([Begin]) --> READ[\"Read\"] --> END([End])\n```\n\n\
    ## Node Prompts\n\n### READ\n```yaml\ntools: [\"u:echo\"]\n```\nRead.\n";

/// Secrets and files.
pub(super) struct SoakFixture {
    pub(super) dir: PathBuf,
    pub(super) tramline: PathBuf,
    /// The value of the setting `TOKEN`.
    pub(super) secret: String,
    /// The tokens of two agents, and of an approver.
    pub(super) ann: String,
    pub(super) bob: String,
    pub(super) boss: String,
    /// Files that must not change.
    guarded: Vec<(PathBuf, Vec<u8>)>,
}

impl SoakFixture {
    /// Creates everything in a directory.
    pub(super) fn create(
        dir: &Path,
        tramline: &Path,
        unruly: &Path,
        evil: SocketAddr,
        is_small: bool,
        chance: &mut SeededRng,
    ) -> Result<Self> {
        for sub in ["work/sub", "outside", "logs"] {
            fs::create_dir_all(dir.join(sub))?;
        }
        let mut world = Self {
            dir: dir.canonicalize()?,
            tramline: tramline.to_owned(),
            secret: format!("ghp_{}", word(chance)),
            ann: format!("ann{}", word(chance)),
            bob: format!("bob{}", word(chance)),
            boss: format!("boss{}", word(chance)),
            guarded: Vec::new(),
        };
        let graphs = graphs(is_small).to_string();
        let servers = world.servers(unruly, evil);
        // A pinned procedure is checked against the tools of all servers at startup.
        let few = json!({"mcpServers": {"u": servers["mcpServers"]["u"]}}).to_string();
        let servers = servers.to_string();
        let SoakFixture { ann, bob, boss, .. } = &world;
        let tokens = format!("ann={ann}\nbob={bob}\nboss={boss} approver\n");
        let files = [
            ("work/graphs.yaml", graphs.as_str()),
            (
                "work/studio.yaml",
                &json!({"version": "1.0", "server": {"name": "studio", "version": "1"}, "tools": [echo()]}).to_string(),
            ),
            ("work/mcp.json", &servers),
            ("work/few.json", &few),
            ("work/tramline.yaml", CONFIG),
            ("work/tokens.txt", &tokens),
            ("work/procedure.md", PROCEDURE),
            ("outside/precious.txt", "this must not change\n"),
            (
                "work/keep.txt",
                "this may be deleted only with approval\n",
            ),
        ];
        for (name, text) in files {
            let path = world.dir.join(name);
            fs::write(&path, text)?;
            world.guarded.push((path, text.as_bytes().to_vec()));
        }
        only_mine(&world.dir.join("work/tokens.txt"))?;
        let work = world.dir.join("work");
        nix::unistd::mkfifo(&work.join("fifo"), nix::sys::stat::Mode::S_IRWXU)?;
        std::os::unix::fs::symlink("/dev/zero", work.join("zero"))?;
        std::os::unix::fs::symlink(world.dir.join("outside"), work.join("out"))?;
        world.store_secret()?;
        Ok(world)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The data directory that most servers share. It is inside the agents' root.
    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("work/data")
    }

    /// The file that a hostile document would create if one of its commands were started.
    pub(super) fn canary(&self) -> PathBuf {
        self.dir.join("PWNED")
    }

    /// A command of the program under test on the shared data directory, run as the operator.
    pub(super) fn operator(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tramline);
        command
            .arg("--data-dir")
            .arg(self.data())
            .args(arguments)
            .env_remove("TRAMLINE_TOKEN")
            .env_remove("TRAMLINE_CONFIG")
            .current_dir(self.dir.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn store_secret(&self) -> Result<()> {
        let mut child = self
            .operator(&["settings", "set", "TOKEN"])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().context("no input")?;
        writeln!(input, "{}", self.secret)?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "setting the secret failed: {output:?}"
        );
        Ok(())
    }

    /// The files that changed; they are restored.
    pub(super) fn changed(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, before) in &self.guarded {
            if fs::read(path).ok().as_ref() != Some(before) {
                let _ = fs::write(path, before);
                changed.push(path.clone());
            }
        }
        changed
    }

    fn servers(&self, unruly: &Path, evil: SocketAddr) -> Value {
        let log = |name: &str| self.dir.join(name).display().to_string();
        let env = json!({MARK: format!("${{{MARK}}}"), "UNRULY_LOG": log("record.log")});
        let stdio = |args: &[&str]| json!({"command": unruly, "args": args, "env": env, "timeout_ms": CALL_MS});
        let mut bank = stdio(&[]);
        bank["env"]["UNRULY_LOG"] = json!(log("bank.log"));
        let mut secret = stdio(&["--hostile", "--tell-secret"]);
        secret["env"]["UNRULY_SECRET"] = json!("${settings.TOKEN}");
        let mut stubborn = stdio(&[]);
        stubborn["command"] = json!("sh");
        let started = format!(
            "trap '' TERM HUP INT; exec {} --ignore-eof",
            unruly.display()
        );
        stubborn["args"] = json!(["-c", started]);
        let mut all = json!({
            "u": stdio(&["--hostile"]),
            "bank": bank,
            "secret": secret,
            "stubborn": stubborn,
            "many": stdio(&["--tools", "100000"]),
            "pages": stdio(&["--endless-pages"]),
            "setsid": stdio(&["--setsid-child"]),
        });
        for kind in servers::OVER_HTTP {
            all[kind] = json!({
                "type": "http", "url": format!("http://{evil}/{kind}"), "protocol": "legacy",
                "headers": {"x-api-key": "${settings.TOKEN}"}, "timeout_ms": CALL_MS,
            });
        }
        json!({"mcpServers": all})
    }
}

fn word(chance: &mut SeededRng) -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    (0..36)
        .filter_map(|_| chance.pick(LETTERS).copied().map(char::from))
        .collect()
}

fn only_mine(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o600),
    )?)
}

/// A graph that returns its input.
fn echo() -> Value {
    json!({
        "name": "echo_it", "description": "Returns its text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "nodes": [
            {"id": "entry", "type": "entry", "next": "say"},
            {"id": "say", "type": "transform", "next": "exit", "transform": {"expr": "{\"value\": entry.text, \"token\": 1}"}},
            {"id": "exit", "type": "exit"},
        ],
    })
}

/// The served graphs: a normal one, one that waits, and one per hostile tool.
fn graphs(is_small: bool) -> Value {
    let calling = |name: &str, server: &str, tool: &str, args: Value, asks: bool| {
        let mut node = json!({"id": "go", "type": "mcp", "server": server, "tool": tool, "args": args, "next": "exit"});
        if asks {
            node["approval"] = json!("May it go?");
        }
        json!({
            "name": name, "description": "Calls one tool.", "inputSchema": {"type": "object"},
            "nodes": [{"id": "entry", "type": "entry", "next": "go"}, node, {"id": "exit", "type": "exit"}],
        })
    };
    let mut tools = vec![
        echo(),
        calling("waits", "u", "echo", json!({}), true),
        calling("effect", "u", "record", json!({"delay_ms": 20}), false),
    ];
    for trick in servers::HOSTILE_TOOLS {
        let arguments = (trick.arguments)(is_small);
        tools.push(calling(
            trick.graph,
            trick.server,
            trick.tool,
            arguments,
            false,
        ));
    }
    for kind in servers::OVER_HTTP {
        tools.push(calling(
            &servers::graph_over_http(kind),
            kind,
            "go",
            json!({}),
            false,
        ));
    }
    json!({"version": "1.0", "server": {"name": "soak", "version": "1"}, "tools": tools})
}
