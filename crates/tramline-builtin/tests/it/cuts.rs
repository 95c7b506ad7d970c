//! Texts that a tool shortens: no part of a secret is left over, wherever the cut falls.

use crate::call;
use std::path::Path;
use tramline_builtin::{Builtin, BuiltinAccess, ProtectedPath, Protection, SERVER};
use tramline_engine::ports::Tools;
use tramline_expr::Value;
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::RedactText;

/// Secrets without and with spaces and line breaks, and with characters that end the path of a URL.
const SECRETS: [&str; 4] = [
    "ghp0Zk31vQx8TfWmC4uYd7LsBn2R",
    "correct horse 7Qz battery 9Kw staple",
    "kX93\nvLm2pQ7\nzR41wT8",
    "Tq7?Wz4#Np8Rk2Vd6",
];
/// Shortest part of a secret that counts as leaked, in characters.
const PART_CHARS: usize = 5;

fn redactor() -> RedactText {
    RedactText::new(|text| {
        let mut text = text.to_owned();
        for secret in SECRETS {
            text = text.replace(secret, "[redacted:S]");
            text = text.replace(&secret.escape_debug().to_string(), "[redacted:S]");
        }
        text
    })
}

fn tools(root: &Path) -> Builtin {
    let kept = ProtectedPath::new(root.join("kept"), "kept", Protection::SecretDirectory);
    Builtin::new(BuiltinAccess {
        roots: vec![root.to_owned()],
        protected: vec![kept],
        hosts: vec!["127.0.0.1".parse().unwrap()],
        shell: true,
        redact: redactor(),
        ..BuiltinAccess::default()
    })
    .unwrap()
}

/// Checks what the caller sees after it has redacted the whole text, as the engine does.
fn check(what: &str, text: &str) {
    let shown = redactor().redact(text);
    for secret in SECRETS {
        let chars: Vec<char> = secret.chars().collect();
        for part in chars.windows(PART_CHARS) {
            let part: String = part.iter().collect();
            assert!(
                !shown.contains(&part),
                "{what}: {part:?} of {secret:?} in {shown}"
            );
        }
    }
}

/// Paddings that put the cut at `max` before, into and behind the secret.
fn paddings(max: usize, secret: &str) -> impl Iterator<Item = String> {
    let from = max.saturating_sub(secret.len() + 40);
    (from..max + 3).map(|length| "p".repeat(length))
}

fn arguments<const N: usize>(pairs: [(&str, String); N]) -> String {
    let pairs = pairs.map(|(name, value)| (name, Value::from(value)));
    Value::object(pairs).to_json()
}

#[tokio::test]
async fn the_failure_for_a_protected_path_shows_no_part_of_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("kept")).unwrap();
    let tools = tools(dir.path());
    for secret in SECRETS {
        for padding in paddings(200, secret) {
            let path = format!("kept/{padding}{secret}");
            let given = arguments([("path", path), ("content", "x".to_owned())]);
            let failure = call(&tools, "write-file", &given).await.unwrap_err();
            check("write-file", &failure.message);
        }
    }
}

#[tokio::test]
async fn the_preview_of_a_change_shows_no_part_of_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tools(dir.path());
    let name = ToolName::new(SERVER, "write-file");
    for secret in SECRETS {
        for padding in paddings(400, secret) {
            let lines = format!("first\n{padding}{secret} end\nlast\n");
            let given = arguments([("path", "a".to_owned()), ("content", lines.clone())]);
            let given = Value::from_json(&given).unwrap();
            let change = tools.preview(&name, &given).await.unwrap();
            check("preview", &change.diff.unwrap());
        }
        // A diff of many lines is cut as well.
        for before in 380..400 {
            let lines = format!("{}{secret}\n{}", "p\n".repeat(before), "q\n".repeat(50));
            let given = arguments([("path", "a".to_owned()), ("content", lines)]);
            let given = Value::from_json(&given).unwrap();
            let change = tools.preview(&name, &given).await.unwrap();
            check("preview", &change.diff.unwrap());
        }
    }
    std::fs::write(dir.path().join("a"), format!("key={}\n", SECRETS[0])).unwrap();
    let content = "key=[redacted:S]\n".to_owned();
    let given = arguments([("path", "a".to_owned()), ("content", content)]);
    let given = Value::from_json(&given).unwrap();
    let change = tools.preview(&name, &given).await.unwrap();
    assert_eq!(change.change, "replace");
    assert_eq!(change.note.as_deref(), Some("only redacted values change"));
}

#[tokio::test]
async fn the_failure_of_a_command_shows_no_part_of_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tools(dir.path());
    for secret in SECRETS {
        for padding in paddings(300, secret).step_by(4) {
            let text = format!("{padding}{secret} end");
            let command = "printf %s \"$TEXT\" >&2; exit 3".to_owned();
            let given = Value::object([
                ("command", command.into()),
                ("env", Value::object([("TEXT", text.into())])),
            ]);
            let failure = call(&tools, "shell", &given.to_json()).await.unwrap_err();
            check("shell", &failure.message);
        }
    }
}

#[tokio::test]
async fn a_summary_shows_no_part_of_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tools(dir.path());
    for secret in SECRETS {
        for padding in paddings(400, secret) {
            let text = format!("{padding}{secret} end");
            let output = Value::object([("tool", "t".into()), ("output", text.as_str().into())]);
            let error = Value::object([("tool", "t".into()), ("error", text.as_str().into())]);
            let nested = Value::object([("deep", text.as_str().into())]);
            let results = Value::array([output, error, nested]);
            let given = Value::object([("results", results)]).to_json();
            let summary = call(&tools, "finalize_summary", &given).await.unwrap();
            check("summary", summary.get("summary").unwrap().as_str().unwrap());
        }
    }
}

#[tokio::test]
async fn a_url_without_its_query_shows_no_part_of_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let tools = tools(dir.path());
    // A port on which nothing listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/a/{}", SECRETS[3]);
    let given = arguments([("url", url)]);
    let failure = call(&tools, "http", &given).await.unwrap_err();
    check("http", &failure.message);
    let given = arguments([("url", format!("http://u:pw@127.0.0.1:{port}/a?key=k"))]);
    let failure = call(&tools, "http", &given).await.unwrap_err();
    let place = format!("127.0.0.1:{port}/a: ");
    assert!(failure.message.starts_with(&place), "{}", failure.message);
}
