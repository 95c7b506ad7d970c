//! Projects that bring files of their own: nothing in them decides what `tramline mcp` does to the user.

use super::{Home, SECRET};
use serde_json::json;
use std::fs;
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
    assert_eq!(home.done(&["settings", "list"]), json!([]));
}
