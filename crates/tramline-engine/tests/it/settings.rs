//! Settings in runs: their names in journals, their values in calls, secrets nowhere else.

use crate::support::graphs;
use std::sync::Arc;
use tramline_engine::ports::{Callable, DocumentStore, JournalStore, Store, ToolHints};
use tramline_engine::settings::{NotRedacted, Setter, SettingSource, VALUE_BYTES_MAX};
use tramline_engine::testing::{FakeCipher, FakeTools, MemoryStore, cipher_contract};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, ReplayStore, RunStart, Settings, WorkflowMap,
};
use tramline_expr::Value;
use tramline_views::trace::Trace;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::journal::{Outcome, StoredDocument};

const SECRET: &str = "tok/en+\"äö\" 123456";

fn settings(store: &Arc<MemoryStore>, key: u8, variables: &[(&str, &str)]) -> Settings {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let store = Arc::clone(store) as Arc<dyn Store>;
    Settings::new(
        store,
        Arc::new(FakeCipher(key)),
        variables.iter().map(owned),
    )
    .unwrap()
}

/// `echo` returns its arguments, `fail` fails with them, `bring` returns a text with a reference.
fn tools() -> Arc<FakeTools> {
    let safe = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let tools = FakeTools::new()
        .tool("t", "echo", safe, |arguments| async { Ok(arguments) })
        .tool("t", "bring", safe, |_| async {
            Ok("${settings.KEY}".into())
        })
        .tool("t", "fail", safe, |arguments| async move {
            let failure = Failure::new(FailureKind::Tool, format!("bad {}", arguments.to_json()));
            Err(failure.with_data(arguments))
        });
    Arc::new(tools)
}

fn workflow(nodes: &str) -> Arc<Graph> {
    let text = format!(
        "
- name: w
  description: d
  inputSchema: {{type: object}}
  outputSchema: {{}}
  nodes:
    - {{id: entry, type: entry, next: a}}
{nodes}
    - {{id: exit, type: exit}}"
    );
    graphs(&text).remove(0)
}

fn call(tool: &str, args: &str) -> Arc<Graph> {
    workflow(&format!(
        "    - {{id: a, type: mcp, server: t, tool: {tool}, args: {args}, next: exit}}"
    ))
}

struct Rig {
    store: Arc<MemoryStore>,
    tools: Arc<FakeTools>,
    settings: Settings,
    engine: Engine,
}

fn rig(variables: &[(&str, &str)]) -> Rig {
    let store = Arc::new(MemoryStore::new());
    let tools = tools();
    let settings = settings(&store, 7, variables);
    let options = EngineOptions {
        settings: Some(settings.clone()),
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new()) as _))),
        ..EngineOptions::default()
    };
    let engine = Engine::new(Arc::clone(&store) as _, Arc::clone(&tools) as _, options);
    Rig {
        store,
        tools,
        settings,
        engine,
    }
}

impl Rig {
    /// Runs to the end, and returns the outcome with everything readable about the run.
    async fn run(&self, graph: &Arc<Graph>, input: Value) -> (Outcome, String) {
        let start = RunStart::new(Arc::clone(graph), input);
        let handle = self.engine.start(start).await.unwrap();
        let id = handle.run.clone();
        let DriveOutcome::Finished(outcome) = handle.wait().await.unwrap() else {
            panic!("the run paused");
        };
        let loaded = self.engine.load(&id).await.unwrap();
        let trace = Trace::of(&id, &loaded.run.graph, &loaded.entries);
        let mut all = serde_json::to_string(&trace).unwrap();
        for chunk in self.store.read(&id, 0).await.unwrap() {
            all.push_str(&String::from_utf8_lossy(&chunk.body));
        }
        // The journal refers to its workflow, which is stored next to it.
        let workflow = StoredDocument::of(&*loaded.run.started.workflow).unwrap();
        let kept = self.store.document(&workflow.digest).await.unwrap();
        all.push_str(&String::from_utf8_lossy(&kept.unwrap()));
        (outcome, all)
    }
}

fn nothing() -> Value {
    Value::object::<&str>([])
}

#[test]
fn the_fake_keeps_the_contract() {
    cipher_contract(&FakeCipher(1), &FakeCipher(2));
}

#[tokio::test]
async fn a_call_gets_the_value_and_the_journal_the_name() {
    let rig = rig(&[]);
    rig.settings.set("KEY", SECRET, true).await.unwrap();
    let graph = call(
        "echo",
        "{auth: 'Bearer ${settings.KEY}', whole: '${settings.KEY}'}",
    );
    let (outcome, all) = rig.run(&graph, nothing()).await;
    let called = rig.tools.calls().remove(0).arguments;
    assert_eq!(called.get("whole").unwrap().as_str(), Some(SECRET));
    let wanted = r#"{"auth":"Bearer [redacted:KEY]","whole":"[redacted:KEY]"}"#;
    assert!(matches!(&outcome, Outcome::Completed { result } if result.to_json() == wanted));
    assert!(!all.contains("123456"), "{all}");
    assert!(all.contains("Bearer ${settings.KEY}"), "{all}");
}

#[tokio::test]
async fn failures_are_redacted_and_so_is_what_callers_bring() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "tok-123456", true).await.unwrap();
    let graph = call("fail", "{url: 'https://x/?k=${settings.KEY}'}");
    let input = Value::object([("note", "see tok-123456".into())]);
    let (outcome, all) = rig.run(&graph, input).await;
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("the run must fail");
    };
    assert!(failure.message.contains("k=[redacted:KEY]"), "{failure}");
    assert!(!all.contains("123456"), "{all}");
}

#[tokio::test]
async fn what_is_not_set_fails_with_the_command_that_sets_it() {
    let rig = rig(&[]);
    let graph = call("echo", "{a: '${settings.github.token}'}");
    let (outcome, _) = rig.run(&graph, nothing()).await;
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("the run must fail");
    };
    assert_eq!(failure.kind, FailureKind::BadArguments);
    assert!(
        failure
            .message
            .contains("tramline settings set github.token")
    );
    assert!(failure.message.contains("TRAMLINE_SETTING_GITHUB_TOKEN"));
    assert!(rig.tools.calls().is_empty());
}

#[tokio::test]
async fn what_tools_and_callers_bring_asks_for_nothing() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "tok-123456", true).await.unwrap();
    let graph = workflow(
        "    - {id: a, type: mcp, server: t, tool: bring, args: {}, next: b}
    - {id: b, type: mcp, server: t, tool: echo, args: {k: '${settings.KEY}', x: $.a, y: $.entry.y}, next: exit}",
    );
    let input = Value::object([("y", "${settings.KEY}".into())]);
    rig.run(&graph, input).await;
    let called = rig.tools.calls().remove(1).arguments;
    let wanted = r#"{"k":"tok-123456","x":"${settings.KEY}","y":"${settings.KEY}"}"#;
    assert_eq!(called.to_json(), wanted);
}

#[tokio::test]
async fn a_called_workflow_is_given_no_secret() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "tok-123456", true).await.unwrap();
    let inner = call("echo", "{a: '${settings.KEY}', b: $.entry.b}");
    let outer = workflow(
        "    - {id: a, type: workflow, workflow: w, args: {b: '${settings.KEY}'}, next: exit}",
    );
    let shelf = WorkflowMap::new([Callable {
        graph: inner,
        origin: Value::Null,
    }]);
    let engine = Engine::with_workflows(
        Arc::clone(&rig.store) as _,
        Arc::clone(&rig.tools) as _,
        Arc::new(shelf),
        EngineOptions {
            settings: Some(rig.settings.clone()),
            ..EngineOptions::default()
        },
    );
    let handle = engine.start(RunStart::new(outer, nothing())).await.unwrap();
    let ended = handle.wait().await.unwrap();
    let DriveOutcome::Finished(Outcome::Failed { failure, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(failure.kind, FailureKind::Forbidden);
    assert!(rig.tools.calls().is_empty());
}

#[tokio::test]
async fn replays_need_no_settings() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "tok-123456", true).await.unwrap();
    let graph = call("echo", "{a: '${settings.KEY}'}");
    let handle = rig
        .engine
        .start(RunStart::new(graph, nothing()))
        .await
        .unwrap();
    let id = handle.run.clone();
    handle.wait().await.unwrap();
    rig.settings.unset("KEY").await.unwrap();
    let replayed = rig.engine.replay(&id, None).await.unwrap();
    assert!(replayed.unused.is_empty());
    let outcome = replayed.trace.outcome.unwrap().to_json();
    assert!(outcome.contains("[redacted:KEY]"), "{outcome}");
}

#[tokio::test]
async fn the_environment_wins_and_is_hidden_too() {
    let rig = rig(&[("TRAMLINE_SETTING_MY_KEY", "from-outside"), ("OTHER", "x")]);
    rig.settings
        .set("my.key", "kept-value", true)
        .await
        .unwrap();
    let graph = call("echo", "{a: '${settings.my.key}'}");
    let (outcome, _) = rig.run(&graph, nothing()).await;
    assert!(matches!(&outcome, Outcome::Completed { result }
        if result.to_json() == r#"{"a":"[redacted:MY_KEY]"}"#));
    let kept = rig.settings.redact_text("what is kept-value is hidden too");
    assert_eq!(kept, "what is [redacted:my.key] is hidden too");
    let none = WorkflowMap::default();
    let shown = rig.settings.list(&none).await.unwrap();
    assert_eq!(shown.len(), 1);
    let source = SettingSource::Environment("TRAMLINE_SETTING_MY_KEY".into());
    assert_eq!(
        (shown[0].key.as_str(), &shown[0].source),
        ("my.key", &source)
    );
}

#[tokio::test]
async fn secrets_are_shown_by_their_ends_at_most() {
    let rig = rig(&[]);
    let set = |key: &'static str, value: &'static str, secret| {
        let settings = rig.settings.clone();
        async move { settings.set(key, value, secret).await }
    };
    set("LONG", "sk-0123456789abcdefWXYZ", true).await.unwrap();
    set("SHORT", "0123456789", true).await.unwrap();
    set("PLAIN", "eu-west", false).await.unwrap();
    let none = WorkflowMap::default();
    let shown = rig.settings.list(&none).await.unwrap();
    let values: Vec<_> = shown.iter().map(|one| one.value.clone().unwrap()).collect();
    assert_eq!(values, ["sk-…WXYZ", "eu-west", "…"]);
    for (key, value, says) in [
        ("a b", "value", "is not a valid key"),
        ("A", "abc", "--plain"),
        ("A", &"x".repeat(VALUE_BYTES_MAX + 1), "longer than"),
    ] {
        let refused = rig.settings.set(key, value, true).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_and_overwrites_nothing() {
    let store = Arc::new(MemoryStore::new());
    settings(&store, 1, &[])
        .set("A", "secret-a", true)
        .await
        .unwrap();
    let before = store.get("settings", "A").await.unwrap();
    let other = settings(&store, 2, &[]);
    let refused = other
        .set("B", "secret-b", true)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("`A` cannot be decrypted, so nothing is written"),
        "{refused}"
    );
    assert!(other.set("A", "secret-c", true).await.is_err());
    assert_eq!(store.list("settings").await.unwrap(), ["A"]);
    assert_eq!(store.get("settings", "A").await.unwrap(), before);
    assert!(other.value("A").unwrap().is_err());
    // Operations without the key still work: setting plain values, and removing.
    other.set("P", "plain", false).await.unwrap();
    assert!(other.unset("A").await.unwrap());
    other.set("B", "secret-b", true).await.unwrap();
    let read = settings(&store, 2, &[]);
    read.reload().await.unwrap();
    assert_eq!(read.value("B"), Some(Ok("secret-b".into())));
}

#[tokio::test]
async fn what_is_damaged_is_named_and_the_rest_goes_on() {
    let store = Arc::new(MemoryStore::new());
    settings(&store, 1, &[])
        .set("A", "secret-a", true)
        .await
        .unwrap();
    for body in [
        &b"not json"[..],
        b"{}",
        b"{\"sealed\":\"%%\"}",
        b"{\"sealed\":\"AAAA\"}",
    ] {
        store.put("settings", "B", body.to_vec()).await.unwrap();
        let read = settings(&store, 1, &[]);
        read.reload().await.unwrap();
        assert_eq!(read.value("A"), Some(Ok("secret-a".into())));
        assert!(read.value("B").unwrap().is_err());
    }
}

#[tokio::test]
async fn replaced_values_go_on_being_hidden() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "first-value", true).await.unwrap();
    rig.settings.set("KEY", "second-value", true).await.unwrap();
    rig.settings.redact_also("token:ann", "ann-token").unwrap();
    let text = rig
        .settings
        .redact_text("first-value second-value ann-token");
    assert_eq!(text, "[redacted:KEY] [redacted:KEY] [redacted:token:ann]");
}

#[tokio::test]
async fn a_document_that_holds_a_secret_is_not_run() {
    let rig = rig(&[]);
    rig.settings.set("KEY", "tok-123456", true).await.unwrap();
    rig.settings.set("SHORT", "exit9", true).await.unwrap();
    let graph = call("echo", "{auth: 'Bearer tok-123456'}");
    let start = RunStart::new(graph, nothing());
    let refused = rig.engine.start(start).await.err().unwrap().to_string();
    assert!(
        refused.contains("write ${settings.KEY} in its place"),
        "{refused}"
    );
    assert!(!refused.contains("123456"));
    // A short secret may occur by chance.
    rig.run(&call("echo", "{a: exit9}"), nothing()).await;
    assert_eq!(rig.tools.calls().len(), 1);
}

#[tokio::test]
async fn an_agent_cannot_try_out_what_a_secret_is() {
    let rig = rig(&[]);
    let strong = "ghp_9aB3xKq77LmNzz0PqRsTuVwX";
    rig.settings.set("PIN", "48213377", true).await.unwrap();
    rig.settings.set("KEY", strong, true).await.unwrap();
    let begin = async |value: &str| {
        let graph = Graph::cautious(&call("echo", &format!("{{a: '{value}'}}")));
        rig.engine.start(RunStart::new(graph, nothing())).await
    };
    // A right guess and a wrong one get the same reply.
    assert!(begin("48213377").await.is_ok());
    assert!(begin("48213378").await.is_ok());
    // A secret that cannot be guessed is rejected without its name.
    let refused = begin(strong).await.err().unwrap().to_string();
    assert!(refused.contains("the value of a secret"), "{refused}");
    assert!(
        !refused.contains("`KEY`") && !refused.contains("settings.KEY}, "),
        "{refused}"
    );
    assert!(
        refused.contains("with the key of that setting"),
        "{refused}"
    );
    // The operator's own documents are checked more strictly, and the message has the name.
    let own = RunStart::new(call("echo", "{a: '48213377'}"), nothing());
    let refused = rig.engine.start(own).await.err().unwrap().to_string();
    assert!(refused.contains("${settings.PIN}"), "{refused}");
}

#[tokio::test]
async fn an_agent_sets_strong_secrets_and_none_of_the_operators() {
    let rig = rig(&[("TRAMLINE_SETTING_FROM_ENV", "outside-value-77x")]);
    let strong = "x7Kp2mQ9zL4tR8vB";
    let set = async |key: &str, value: &str, secret| {
        let set = rig.settings.set_by(Setter::Agent, key, value, secret).await;
        set.map_err(|refused| refused.to_string())
    };
    rig.settings
        .set("MINE", "operators-own-1", true)
        .await
        .unwrap();
    rig.settings.set("PLAIN", "eu-west", false).await.unwrap();
    for key in ["MINE", "PLAIN", "from.env", "FROM_ENV"] {
        for secret in [true, false] {
            let refused = set(key, strong, secret).await.unwrap_err();
            assert!(
                refused.contains("belongs to the operator"),
                "{key}: {refused}"
            );
        }
    }
    assert_eq!(
        rig.settings.value("MINE"),
        Some(Ok("operators-own-1".into()))
    );
    for weak in ["value", "hunter22", "Authorization", "application/json"] {
        let refused = set("Z", weak, true).await.unwrap_err();
        assert!(refused.contains("can be guessed"), "{weak}: {refused}");
    }
    assert!(set("Z", "abc", true).await.is_err());
    assert_eq!(rig.settings.redact_text("value"), "value");
    // An agent may replace its own settings until the operator sets them.
    set("Z", strong, true).await.unwrap();
    set("Z", "another-x7Kp2mQ9zL4t", true).await.unwrap();
    let none = WorkflowMap::default();
    let shown = rig.settings.get("Z", &none).await.unwrap().unwrap();
    assert!(shown.by_agent);
    rig.settings
        .set("Z", "operators-own-2", true)
        .await
        .unwrap();
    assert!(set("Z", strong, true).await.is_err());
    assert!(
        !rig.settings
            .get("Z", &none)
            .await
            .unwrap()
            .unwrap()
            .by_agent
    );
}

#[tokio::test]
async fn what_is_short_or_common_is_used_and_rewrites_nothing() {
    let rig = rig(&[
        ("TRAMLINE_SETTING_WORD", "value"),
        ("TRAMLINE_SETTING_PIN", "482"),
    ]);
    rig.settings.set("COMMON", "password", true).await.unwrap();
    rig.settings.redact_also("token", "a").unwrap();
    rig.settings.redact_also("model", "result").unwrap();
    let graph = call(
        "echo",
        "{value: 482, password: a, result: '${settings.WORD}'}",
    );
    let (outcome, _) = rig.run(&graph, nothing()).await;
    let wanted = r#"{"value":482,"password":"a","result":"value"}"#;
    assert!(
        matches!(&outcome, Outcome::Completed { result } if result.to_json() == wanted),
        "{outcome:?}"
    );
    let said: Vec<_> = rig.settings.not_redacted();
    let names: Vec<_> = said.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["PIN", "WORD", "COMMON", "model", "token"]);
    assert_eq!(said[0].1, NotRedacted::Short);
    assert_eq!(said[1].1, NotRedacted::Common);
}
