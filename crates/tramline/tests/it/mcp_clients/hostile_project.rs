//! Projects that bring files of their own: nothing in them decides what `tramline mcp` does to the user.

use super::{Home, SECRET};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const CLIENT_FILE: &str = "project/.cursor/mcp.json";

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_record_that_came_with_a_project_undoes_nothing() {
    let home = Home::new();
    let secret = home.write(
        ".claude.json",
        &json!({"mcpServers": {"a": {"command": "x", "env": {"KEY": SECRET}}}}).to_string(),
    );
    let evil = home.write(
        "project/.tramline/evil.json",
        r#"{"mcpServers":{"a":{"command":"evil"}}}"#,
    );
    let before = r#"{"mcpServers":{"a":{"command":"true"}}}"#;
    let file = home.write(CLIENT_FILE, before);
    home.done(&["settings", "set", "PROD_KEY", "prod-9aB3xKq77LmNzz0PqRs"]);
    for backup in [&secret, &evil] {
        let record = json!({
            "entry": "tramline",
            "backup": backup,
            "servers": ["a"],
            "own_names": [],
            "settings": ["PROD_KEY"],
            "own_file": home.path().join("project/.tramline/mcp.json"),
        });
        let record = home.write("project/.tramline/imports/cursor.json", &record.to_string());
        for words in [
            &["mcp", "import", "cursor", "--scope", "project", "--undo"][..],
            &["mcp", "import", "cursor", "--scope", "project"],
        ] {
            let refused = home.run(words);
            assert_eq!(refused.code(), 2, "{words:?}: {}", refused.err());
            let place = record.canonicalize().unwrap();
            let place = place.to_str().unwrap();
            assert!(refused.err().contains(place), "{}", refused.err());
            assert!(!refused.err().contains("--undo"), "{}", refused.err());
        }
        assert_eq!(text(&file), before);
    }
    let settings = home.done(&["settings", "list"]).to_string();
    assert!(settings.contains("PROD_KEY"), "{settings}");
}

#[test]
fn an_import_of_a_project_is_recorded_outside_of_it() {
    let home = Home::new();
    let before = format!(
        "{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"env\":{{\"A_TOKEN\":\"{SECRET}\"}}}}}}}}\n"
    );
    let file = home.write(CLIENT_FILE, &before);
    let import = ["mcp", "import", "cursor", "--scope", "project"];
    let undo = ["mcp", "import", "cursor", "--scope", "project", "--undo"];
    let done = home.done(&import);
    assert!(!home.path().join("project/.tramline/imports").exists());
    // Another project has no import to undo.
    fs::create_dir(home.path().join("other")).unwrap();
    let mut other = undo.to_vec();
    other.extend(["--project", "../other"]);
    assert_eq!(home.run(&other).code(), 2);
    // The copy beside the client's file is taken only as it was.
    let backup = Path::new(done["backup"].as_str().unwrap());
    fs::write(backup, before.replace("\"x\"", "\"evil\"")).unwrap();
    let refused = home.run(&undo);
    assert_eq!(refused.code(), 2);
    assert!(refused.err().contains("was changed"), "{}", refused.err());
    assert!(!text(&file).contains("evil"));
    fs::write(backup, &before).unwrap();
    home.done(&undo);
    assert_eq!(text(&file), before);
    assert_eq!(home.done(&["settings", "list"])["settings"], json!([]));
}

#[test]
fn servers_that_a_project_brought_are_used_only_if_the_user_agrees() {
    let home = Home::new();
    let before = r#"{"mcpServers":{"nice":{"command":"true"}}}"#;
    let file = home.write(CLIENT_FILE, before);
    let brought = r#"{"mcpServers":{"helper":{"command":"sh","args":["-c","evil"]}}}"#;
    let own = home.write("project/.tramline/mcp.json", brought);
    let import = ["mcp", "import", "cursor", "--scope", "project"];
    let refused = home.run(&import);
    assert_eq!(refused.code(), 2, "{}", refused.err());
    for part in ["helper: starts sh -c evil", "--trust"] {
        assert!(refused.err().contains(part), "{}", refused.err());
    }
    let mut as_json = import.to_vec();
    as_json.push("--json");
    let refused = home.run(&as_json);
    assert_eq!(refused.code(), 2);
    assert_eq!((text(&file), text(&own)), (before.into(), brought.into()));
    let mut dry_run = import.to_vec();
    dry_run.push("--dry-run");
    let shown = home.run(&dry_run);
    assert_eq!(shown.code(), 0);
    assert!(
        shown.err().contains("helper: starts sh -c evil"),
        "{}",
        shown.err()
    );
    assert_eq!(home.done(&dry_run)["existing"], json!(["helper"]));
    let mut trusting = import.to_vec();
    trusting.push("--trust");
    assert_eq!(home.done(&trusting)["existing"], json!(["helper"]));
    let servers: Value = serde_json::from_str(&text(&own)).unwrap();
    assert_eq!(servers["mcpServers"]["nice"]["command"], "true");
    assert_eq!(servers["mcpServers"]["helper"]["command"], "sh");
}

#[test]
fn links_of_a_project_are_followed_only_if_the_user_agrees() {
    let home = Home::new();
    let package = home.write("project/package.json", "{\"name\":\"x\"}\n");
    let settings = home.write("project/config/settings.json", "{}\n");
    fs::create_dir(home.path().join("project/.cursor")).unwrap();
    symlink("../package.json", home.path().join(CLIENT_FILE)).unwrap();
    symlink("config", home.path().join("project/.gemini")).unwrap();
    for (client, target) in [("cursor", &package), ("gemini", &settings)] {
        let before = text(target);
        let refused = home.run(&["mcp", "install", client, "--scope", "project"]);
        assert_eq!(refused.code(), 2, "{client}: {}", refused.err());
        for part in [
            target.file_name().unwrap().to_str().unwrap(),
            "--follow-links",
        ] {
            assert!(refused.err().contains(part), "{}", refused.err());
        }
        assert_eq!(text(target), before);
        let words = [
            "mcp",
            "install",
            client,
            "--scope",
            "project",
            "--follow-links",
        ];
        home.done(&words);
        assert!(text(target).contains("tramline"));
    }
}

#[test]
fn an_import_of_too_many_servers_is_refused() {
    let home = Home::new();
    let servers: serde_json::Map<String, Value> = (0..257)
        .map(|number| (format!("s{number}"), json!({"command": "x"})))
        .collect();
    let before = json!({ "mcpServers": servers }).to_string();
    let file = home.write(".cursor/mcp.json", &before);
    let refused = home.run(&["mcp", "import", "cursor"]);
    assert_eq!(refused.code(), 2, "{}", refused.err());
    for part in ["257", "256", "--server"] {
        assert!(refused.err().contains(part), "{}", refused.err());
    }
    assert_eq!(text(&file), before);
    home.done(&["mcp", "import", "cursor", "--server", "s7", "--dry-run"]);
}
