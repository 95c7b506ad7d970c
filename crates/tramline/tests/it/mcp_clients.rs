//! `tramline mcp`: configurations of MCP clients, edited, restored, and taken over.

use crate::support::{CommandResult, Tramline};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod hostile_project;
mod real_clients;

const SECRET: &str = "ghp_9aB3xKq77LmNzz0PqRsTuVwX";

/// A home directory of its own, and the binary with it.
struct Home {
    tramline: Tramline,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            tramline: Tramline::new(),
        };
        fs::create_dir_all(home.path().join("project")).unwrap();
        home
    }

    fn path(&self) -> PathBuf {
        self.tramline.data.path().join("home")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.tramline.command(words);
        command
            .current_dir(self.path().join("project"))
            .env("HOME", self.path());
        for name in [
            "XDG_CONFIG_HOME",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "CLINE_MCP_SETTINGS_PATH",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, words: &[&str]) -> CommandResult {
        CommandResult(self.command(words).output().unwrap())
    }

    fn done(&self, words: &[&str]) -> Value {
        let mut words = words.to_vec();
        words.push("--json");
        let done = self.run(&words);
        assert_eq!(done.code(), 0, "{words:?}: {} {}", done.out(), done.err());
        serde_json::from_str(&done.out()).unwrap()
    }

    /// Writes a file below the home directory.
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }
}

/// A client's file with a comment, a setting and a server, and where the entry is in it.
struct Sample {
    client: &'static str,
    file: &'static str,
    text: &'static str,
    container: &'static str,
}

const SAMPLES: [Sample; 12] = [
    Sample {
        client: "claude-code",
        file: ".claude.json",
        text: "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": { \"type\": \"stdio\", \"command\": \"x\" }\n  }\n}\n",
        container: "mcpServers",
    },
    Sample {
        client: "claude-desktop",
        file: ".config/Claude/claude_desktop_config.json",
        text: "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}",
        container: "mcpServers",
    },
    Sample {
        client: "cursor",
        file: ".cursor/mcp.json",
        text: "{}\n",
        container: "mcpServers",
    },
    Sample {
        client: "vscode",
        file: ".config/Code/User/mcp.json",
        text: "{\n\t// my servers\n\t\"servers\": {\n\t\t\"other\": { \"command\": \"x\" }, // last\n\t},\n\t\"inputs\": [],\n}\n",
        container: "servers",
    },
    Sample {
        client: "codex",
        file: ".codex/config.toml",
        text: "# mine\nmodel = \"o9\"\n\n[mcp_servers.other]\ncommand = \"x\" # why\n\n[mcp_servers.other.env]\nA = \"1\"\n",
        container: "mcp_servers",
    },
    Sample {
        client: "gemini",
        file: ".gemini/settings.json",
        text: "{\n  // theme\n  \"theme\": \"dark\"\n}\n",
        container: "mcpServers",
    },
    Sample {
        client: "opencode",
        file: ".config/opencode/opencode.jsonc",
        text: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    // none yet\n  }\n}\n",
        container: "mcp",
    },
    Sample {
        client: "windsurf",
        file: ".codeium/windsurf/mcp_config.json",
        text: "{\n  \"mcpServers\": {\n    \"other\": { \"serverUrl\": \"https://example.com/mcp\" }\n  }\n}",
        container: "mcpServers",
    },
    Sample {
        client: "zed",
        file: ".config/zed/settings.json",
        text: "// Zed settings\n{\n  \"theme\": \"One Dark\", // keep\n  /* none */\n}\n",
        container: "context_servers",
    },
    Sample {
        client: "cline",
        file: ".cline/data/settings/cline_mcp_settings.json",
        text: "{\n  \"mcpServers\": {\n  }\n}\n",
        container: "mcpServers",
    },
    Sample {
        client: "continue",
        file: ".continue/mcpServers/tramline.json",
        text: "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n",
        container: "mcpServers",
    },
    Sample {
        client: "goose",
        file: ".config/goose/config.yaml",
        text: "# mine\nGOOSE_MODEL: x\nextensions:\n  developer: # built in\n    enabled: true\n    type: builtin\nGOOSE_MODE: auto\n",
        container: "extensions",
    },
];

#[test]
fn every_client_is_configured_and_restored_to_the_byte() {
    let home = Home::new();
    for sample in &SAMPLES {
        let client = sample.client;
        let file = home.write(sample.file, sample.text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let shown = home.done(&["mcp", "install", client, "--dry-run"]);
        assert!(
            shown["diff"].as_str().unwrap().contains("tramline"),
            "{client}: {shown}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), sample.text, "{client}");
        let done = home.done(&["mcp", "install", client]);
        assert_eq!(
            done["file"],
            file.canonicalize().unwrap().to_str().unwrap(),
            "{client}"
        );
        let with = fs::read_to_string(&file).unwrap();
        for line in sample
            .text
            .lines()
            .filter(|line| line.contains("//") || line.contains("# "))
        {
            assert!(with.contains(line.trim()), "{client} lost {line}: {with}");
        }
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{client}");
        let backup = PathBuf::from(done["backup"].as_str().unwrap());
        assert_eq!(
            fs::read_to_string(&backup).unwrap(),
            sample.text,
            "{client}"
        );
        let mode = fs::metadata(&backup).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}");
        assert_eq!(
            home.done(&["mcp", "install", client])["changed"],
            false,
            "{client}"
        );
        let listed = home.done(&["mcp", "list"]);
        let listed = listed["clients"].as_array().unwrap().iter();
        let mut listed = listed.filter(|one| one["client"] == client && one["scope"] == "user");
        assert_eq!(
            listed.next().unwrap()["entries"],
            json!(["tramline"]),
            "{client}"
        );
        home.done(&["mcp", "uninstall", client]);
        assert_eq!(fs::read_to_string(&file).unwrap(), sample.text, "{client}");
    }
}

#[test]
fn a_file_that_was_made_is_deleted_again() {
    let home = Home::new();
    for sample in &SAMPLES {
        let client = sample.client;
        let file = home.path().join(sample.file);
        let done = home.done(&["mcp", "install", client]);
        assert_eq!(done["backup"], Value::Null, "{client}");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{client}");
        home.done(&["mcp", "uninstall", client]);
        assert!(!file.exists(), "{client}");
    }
}

/// The shapes that the clients document for a server that they start.
#[test]
fn entries_have_the_shape_that_each_client_documents() {
    let home = Home::new();
    home.write("project/hello.yaml", HELLO);
    let document = home
        .path()
        .join("project/hello.yaml")
        .canonicalize()
        .unwrap();
    let document = document.to_str().unwrap();
    for sample in &SAMPLES {
        let client = sample.client;
        let done = home.done(&[
            "mcp",
            "install",
            client,
            "hello.yaml",
            "--root",
            ".",
            "--name",
            "desk",
        ]);
        let entry = &done["entry"];
        let words: Vec<&str> = match client {
            "opencode" => entry["command"].as_array().unwrap()[1..]
                .iter()
                .map(|w| w.as_str().unwrap())
                .collect(),
            _ => entry["args"]
                .as_array()
                .unwrap()
                .iter()
                .map(|w| w.as_str().unwrap())
                .collect(),
        };
        let data = words.iter().position(|word| *word == "--data-dir").unwrap();
        assert_eq!(words[data + 2..data + 4], ["serve", document], "{client}");
        let command = match client {
            "opencode" => entry["command"][0].as_str(),
            "goose" => entry["cmd"].as_str(),
            _ => entry["command"].as_str(),
        };
        assert!(Path::new(command.unwrap()).is_absolute(), "{client}");
        let kind = entry.get("type").and_then(Value::as_str);
        let expected = match client {
            "claude-code" | "vscode" | "goose" => Some("stdio"),
            "opencode" => Some("local"),
            _ => None,
        };
        assert_eq!(kind, expected, "{client}");
        let text = fs::read_to_string(home.path().join(sample.file)).unwrap();
        assert!(text.contains(sample.container), "{client}: {text}");
    }
    for client in ["windsurf", "claude-desktop", "cline", "goose"] {
        let refused = home.run(&["mcp", "install", client, "--scope", "project"]);
        assert_eq!(refused.code(), 2, "{client}");
        assert!(refused.err().contains("--scope user"), "{}", refused.err());
    }
    home.done(&[
        "mcp",
        "install",
        "claude-code",
        "hello.yaml",
        "--scope",
        "project",
    ]);
    assert!(home.path().join("project/.mcp.json").is_file());
}

#[test]
fn what_cannot_be_parsed_is_refused_with_its_place_and_left_alone() {
    let home = Home::new();
    for (client, path, text, place) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"mcpServers\": {\n    \"a\": }\n}",
            ":3:10",
        ),
        (
            "codex",
            ".codex/config.toml",
            "model = \"x\"\n[mcp_servers\n",
            ":2:",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions:\n  a: [1\nb: 2\n",
            ":",
        ),
        ("zed", ".config/zed/settings.json", "[1]", ":1:1"),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\"servers\": 5}",
            ":",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = { a = { command = \"x\" } }\n",
            ":1:",
        ),
    ] {
        let file = home.write(path, text);
        let refused = home.run(&["mcp", "install", client]);
        assert_eq!(refused.code(), 2, "{client}: {}", refused.err());
        let named = file.canonicalize().unwrap();
        let named = format!("{}{place}", named.display());
        assert!(refused.err().contains(&named), "{named}: {}", refused.err());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        let listed = home.run(&["mcp", "list", "--json"]);
        assert_eq!(listed.code(), 0);
    }
    let file = home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"tramline\": {\"command\": \"other\"}}}",
    );
    let refused = home.run(&["mcp", "install", "cursor"]);
    assert!(refused.err().contains("--name"), "{}", refused.err());
    assert_eq!(home.run(&["mcp", "uninstall", "cursor"]).code(), 2);
    assert!(fs::read_to_string(&file).unwrap().contains("other"));
    let wrong = home.run(&["mcp", "install", "curser"]);
    assert!(wrong.err().contains("cursor"), "{}", wrong.err());
}

#[test]
fn links_out_of_the_home_directory_are_followed_only_if_the_user_agrees() {
    let home = Home::new();
    let outside = home.tramline.data.path().join("outside.json");
    fs::write(&outside, "{}\n").unwrap();
    fs::create_dir_all(home.path().join(".cursor")).unwrap();
    let link = home.path().join(".cursor/mcp.json");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let refused = home.run(&["mcp", "install", "cursor"]);
    assert_eq!(refused.code(), 2);
    assert!(
        refused.err().contains("--follow-links"),
        "{}",
        refused.err()
    );
    assert_eq!(fs::read_to_string(&outside).unwrap(), "{}\n");
    home.done(&["mcp", "install", "cursor", "--follow-links"]);
    assert!(fs::read_to_string(&outside).unwrap().contains("tramline"));
    assert!(link.is_symlink());
    // A link inside the home directory is followed and stays a link.
    let inside = home.write("dotfiles/settings.json", "{}\n");
    fs::create_dir_all(home.path().join(".gemini")).unwrap();
    let link = home.path().join(".gemini/settings.json");
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    home.done(&["mcp", "install", "gemini"]);
    assert!(fs::read_to_string(&inside).unwrap().contains("tramline"));
    assert!(link.is_symlink());
}

const HELLO: &str = "version: \"1.0\"\nserver: {name: hello, version: \"1.0.0\"}\ntools:\n  - name: hello\n    description: Greets.\n    inputSchema: {type: object}\n    nodes:\n      - {id: entry, type: entry, next: say}\n      - {id: say, type: transform, transform: {expr: '{\"said\": \"hello\"}'}, next: exit}\n      - {id: exit, type: exit}\n";

/// A client's servers: one that starts Tramline under another name, one over HTTP, one that stays.
fn cursor_servers(home: &Home) -> (PathBuf, String) {
    home.write("project/hello.yaml", HELLO);
    let folder = home.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let other = folder.join("greeter");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tramline"), &other).unwrap();
    let document = home.path().join("project/hello.yaml");
    let data = home.tramline.data.path().join("greeter");
    let text = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"greeter\": {{\n      \"command\": {:?},\n      \"args\": [\"serve\", {:?}, \"--data-dir\", {:?}],\n      \"env\": {{ \"GITHUB_TOKEN\": \"{SECRET}\", \"MODE\": \"quiet\" }}\n    }},\n    \"remote\": {{ \"url\": \"https://example.com/mcp\", \"headers\": {{ \"Authorization\": \"Bearer {SECRET}2\" }} }},\n    \"asks\": {{ \"command\": \"x\", \"env\": {{ \"KEY\": \"${{input:key}}\" }} }}\n  }}\n}}\n",
        other.to_str().unwrap(),
        document.to_str().unwrap(),
        data.to_str().unwrap(),
    );
    (home.write(".cursor/mcp.json", &text), text)
}

#[test]
fn an_import_moves_servers_hides_secrets_and_can_be_undone() {
    let home = Home::new();
    let (file, text) = cursor_servers(&home);
    let shown = home.run(&["mcp", "import", "cursor", "--dry-run"]);
    assert_eq!(shown.code(), 0, "{}", shown.err());
    assert!(shown.out().contains("********"), "{}", shown.out());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let own = home.path().join(".config/tramline/mcp.json");
    assert!(!own.exists());
    let done = home.run(&["mcp", "import", "cursor"]);
    assert_eq!(done.code(), 0, "{}", done.err());
    for said in [shown.out(), shown.err(), done.out(), done.err()] {
        assert!(!said.contains(SECRET), "{said}");
    }
    let servers = fs::read_to_string(&own).unwrap();
    let client: Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap().replace("// mine", "")).unwrap();
    for stored in [&servers, &fs::read_to_string(&file).unwrap()] {
        assert!(!stored.contains(SECRET), "{stored}");
    }
    let servers: Value = serde_json::from_str(&servers).unwrap();
    assert_eq!(
        servers["mcpServers"]["greeter"]["env"]["GITHUB_TOKEN"],
        "${settings.greeter.GITHUB_TOKEN}"
    );
    assert_eq!(servers["mcpServers"]["greeter"]["env"]["MODE"], "quiet");
    assert_eq!(
        servers["mcpServers"]["remote"]["headers"]["Authorization"],
        "Bearer ${settings.remote.Authorization}"
    );
    let names: Vec<_> = client["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["asks", "tramline"]);
    assert!(done.err().contains("`asks` stays"), "{}", done.err());
    // The imported server answers, with its secret from the settings.
    let own_path = own.to_str().unwrap();
    let called = home.done(&["registry", "run", "greeter:hello", "--mcp-config", own_path]);
    assert_eq!(called["output"]["said"], "hello", "{called}");
    // The gated entry is a server that a client can use.
    assert!(
        tools_of(&client["mcpServers"]["tramline"], &home).contains(&"registry_run".to_owned())
    );
    let again = home.run(&["mcp", "import", "cursor"]);
    assert!(again.err().contains("--undo"), "{}", again.err());
    let refused = home.run(&["mcp", "uninstall", "cursor"]);
    assert!(refused.err().contains("--undo"), "{}", refused.err());
    home.done(&["mcp", "import", "cursor", "--undo"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(home.done(&["settings", "list"])["settings"], json!([]));
    let servers: Value = serde_json::from_str(&fs::read_to_string(&own).unwrap()).unwrap();
    assert_eq!(servers["mcpServers"], json!({}));
    let none = home.run(&["mcp", "import", "cursor", "--undo"]);
    assert_eq!(none.code(), 2);
}

#[test]
fn an_undo_keeps_what_was_changed_since() {
    let home = Home::new();
    let (file, _) = cursor_servers(&home);
    home.done(&["mcp", "import", "cursor", "--server", "greeter"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"remote\""), "{text}");
    let changed = text.replacen(
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"new\": { \"command\": \"y\" },",
        1,
    );
    fs::write(&file, changed).unwrap();
    home.done(&["mcp", "import", "cursor", "--undo"]);
    let text = fs::read_to_string(&file).unwrap();
    let config: Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    let mut names: Vec<_> = config["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    names.sort();
    assert_eq!(names, ["asks", "greeter", "new", "remote"]);
    assert_eq!(
        config["mcpServers"]["greeter"]["env"]["GITHUB_TOKEN"],
        SECRET
    );
    assert!(text.contains("// mine"));
    let unknown = home.run(&["mcp", "import", "cursor", "--server", "nothing"]);
    assert!(
        unknown.err().contains("no server `nothing`"),
        "{}",
        unknown.err()
    );
    let stays = home.run(&["mcp", "import", "cursor", "--server", "asks"]);
    assert!(stays.err().contains("input:key"), "{}", stays.err());
}

#[test]
fn servers_of_codex_and_goose_are_imported_from_their_formats() {
    let home = Home::new();
    let codex = format!(
        "model = \"x\"\n\n[mcp_servers.web]\nurl = \"https://example.com/mcp\"\nbearer_token_env_var = \"WEB_TOKEN\"\n\n[mcp_servers.files]\ncommand = \"mcp-files\"\nargs = [\"--root\", \"/srv\"]\n\n[mcp_servers.files.env]\nFILES_TOKEN = \"{SECRET}\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"
    );
    let file = home.write(".codex/config.toml", &codex);
    home.done(&["mcp", "import", "codex"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("mcp_servers.files") && text.contains("[mcp_servers.tramline]"),
        "{text}"
    );
    assert!(
        text.contains("[projects.\"/p\"]\ntrust_level = \"trusted\""),
        "{text}"
    );
    let own = home.path().join(".config/tramline/mcp.json");
    let servers: Value = serde_json::from_str(&fs::read_to_string(&own).unwrap()).unwrap();
    assert_eq!(
        servers["mcpServers"]["web"]["headers"]["Authorization"],
        "Bearer ${WEB_TOKEN}"
    );
    assert_eq!(
        servers["mcpServers"]["files"]["env"]["FILES_TOKEN"],
        "${settings.files.FILES_TOKEN}"
    );
    let goose = "extensions:\n  developer:\n    type: builtin\n  notes:\n    type: stdio\n    cmd: notes\n    args: [a]\n    envs: {MODE: x}\n";
    let goose_file = home.write(".config/goose/config.yaml", goose);
    home.done(&["mcp", "import", "goose"]);
    let text = fs::read_to_string(&goose_file).unwrap();
    assert!(
        text.contains("developer:") && !text.contains("notes:"),
        "{text}"
    );
    home.done(&["mcp", "import", "goose", "--undo"]);
    assert_eq!(fs::read_to_string(&goose_file).unwrap(), goose);
    home.done(&["mcp", "import", "codex", "--undo"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), codex);
}

/// The names of the tools that an entry serves.
fn tools_of(entry: &Value, home: &Home) -> Vec<String> {
    let args = entry["args"].as_array().unwrap().iter();
    let args: Vec<&str> = args.map(|word| word.as_str().unwrap()).collect();
    let mut server = Command::new(entry["command"].as_str().unwrap())
        .args(args)
        .current_dir(home.path())
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    writeln!(stdin, "{hello}\n{ready}\n{list}").unwrap();
    let reply = lines.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (message["id"] == 2).then_some(message)
    });
    drop(stdin);
    server.wait().unwrap();
    let tools = reply.unwrap()["result"]["tools"]
        .as_array()
        .unwrap()
        .clone();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}
