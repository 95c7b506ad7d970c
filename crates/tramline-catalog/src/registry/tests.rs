//! The registry with servers that start, change and disappear.

use crate::catalog::Catalog;
use crate::library::{SaveRequest, Saver, WorkflowName};
use crate::registry::TrialError;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tramline_engine::WorkflowMap;
use tramline_engine::policy::{ToolPattern, ToolPolicy};
use tramline_engine::ports::{
    DocumentStore, Exchange, ListedTools, ServerSource, ServerTools, Tool, ToolCallRequest,
    ToolHints, Tools,
};
use tramline_engine::testing::MemoryStore;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// Servers that list their tools when asked, and count how often that happens.
#[derive(Default)]
struct LazyServers {
    servers: Mutex<BTreeMap<Str, LazyServer>>,
    asked: Mutex<Vec<Str>>,
}

struct LazyServer {
    print: Str,
    tools: Arc<Vec<Arc<Tool>>>,
    awake: bool,
}

impl LazyServers {
    fn set(&self, server: &str, print: &str, tools: &[&str]) {
        let described = |name: &&str| {
            Arc::new(Tool {
                name: ToolName::new(server, *name),
                title: None,
                description: Some(format!("does {name}").into()),
                input_schema: Value::from_json(
                    r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
                )
                .unwrap(),
                output_schema: None,
                hints: ToolHints {
                    destructive: Some(name.starts_with("delete")),
                    ..ToolHints::default()
                },
            })
        };
        let sleeping = LazyServer {
            print: print.into(),
            tools: Arc::new(tools.iter().map(described).collect()),
            awake: false,
        };
        self.servers.lock().unwrap().insert(server.into(), sleeping);
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Tools for LazyServers {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        let servers = self.servers.lock().unwrap();
        let server = servers.get(&name.server).filter(|server| server.awake)?;
        server.tools.iter().find(|tool| tool.name == *name).cloned()
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        let missing = || Failure::new(FailureKind::UnknownTool, "none");
        self.known(name).ok_or_else(missing)
    }

    async fn list(&self) -> Vec<ServerTools> {
        Vec::new()
    }

    fn sources(&self) -> Vec<ServerSource> {
        let servers = self.servers.lock().unwrap();
        let source = |(name, server): (&Str, &LazyServer)| ServerSource {
            server: name.clone(),
            fingerprint: Some(server.print.clone()),
            tools: server.awake.then(|| Arc::clone(&server.tools)),
        };
        servers.iter().map(source).collect()
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        self.asked.lock().unwrap().push(server.into());
        let mut servers = self.servers.lock().unwrap();
        let server = servers.get_mut(server)?;
        if server.tools.is_empty() {
            let failure = Failure::new(FailureKind::Unavailable, "it fell");
            return Some(Err(failure));
        }
        server.awake = true;
        Some(Ok(Arc::clone(&server.tools)))
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        Ok(call.arguments)
    }
}

fn catalog(store: &MemoryStore, tools: &Arc<LazyServers>) -> Catalog {
    let (store, tools) = (Arc::new(store.clone()), Arc::clone(tools));
    Catalog::new(
        store,
        tools as _,
        Arc::new(WorkflowMap::default()),
        None,
        None,
    )
}

async fn names(catalog: &Catalog) -> Vec<String> {
    let list = catalog.registry().list().await.unwrap();
    list.tools
        .iter()
        .map(|tool| tool.name.to_string())
        .collect()
}

#[tokio::test]
async fn what_was_listed_once_is_listed_again_without_asking() {
    let store = MemoryStore::new();
    let first = Arc::new(LazyServers::default());
    first.set("a", "1", &["x", "y"]);
    first.set("b", "1", &["z"]);
    first.set("down", "1", &[]);
    let before = catalog(&store, &first);
    assert_eq!(names(&before).await, ["a:x", "a:y", "b:z"]);
    assert_eq!(first.asked(), 3);
    let silent = &before.registry().list().await.unwrap().unavailable;
    assert_eq!(silent[0].0, "down");
    assert_eq!(
        first.asked(),
        3,
        "a server that failed is not asked again immediately"
    );

    let second = Arc::new(LazyServers::default());
    second.set("a", "1", &["x", "y"]);
    second.set("b", "2", &["other"]);
    let after = catalog(&store, &second);
    assert_eq!(names(&after).await, ["a:x", "a:y", "b:other"]);
    assert_eq!(
        *second.asked.lock().unwrap(),
        ["b"],
        "only its configuration changed"
    );
}

#[tokio::test]
async fn changes_are_seen() {
    let (store, tools) = (MemoryStore::new(), Arc::new(LazyServers::default()));
    tools.set("a", "1", &["x"]);
    let catalog = catalog(&store, &tools);
    assert_eq!(names(&catalog).await, ["a:x"]);
    tools.set("a", "1", &["x", "new"]);
    tools.servers.lock().unwrap().get_mut("a").unwrap().awake = true;
    assert_eq!(names(&catalog).await, ["a:x", "a:new"]);
    tools.set("c", "1", &["added"]);
    assert_eq!(names(&catalog).await, ["a:x", "a:new", "c:added"]);
    tools.servers.lock().unwrap().remove("a");
    assert_eq!(names(&catalog).await, ["c:added"]);
    let text = "{\"tasks\":[{\"id\":\"t\",\"tool\":\"c:added\",\"arguments\":{\"n\":1}}]}";
    let save = SaveRequest {
        name: WorkflowName::new("add-one").unwrap(),
        text: text.into(),
        tool: None,
        description: "adds one".into(),
        by: "ann".into(),
        operator: false,
        saver: Saver::Operator,
        force: false,
        recursive: false,
    };
    catalog.library().save(save).await.unwrap();
    assert_eq!(names(&catalog).await, ["c:added", "workflow:add-one"]);
    catalog.library().remove("add-one").await.unwrap();
    assert_eq!(names(&catalog).await, ["c:added"]);
}

#[tokio::test]
async fn anything_is_found_by_each_of_its_names() {
    let (store, tools) = (MemoryStore::new(), Arc::new(LazyServers::default()));
    tools.set("my-files", "1", &["read_all", "list"]);
    tools.set("other", "1", &["x"]);
    let catalog = catalog(&store, &tools);
    for name in [
        "my-files:read_all",
        "mcp-my-files-read_all",
        "mcp-my-files-read-all",
    ] {
        let found = catalog.registry().find(name).await.unwrap();
        assert_eq!(found.name.to_string(), "my-files:read_all", "{name}");
    }
    assert_eq!(
        *tools.asked.lock().unwrap(),
        ["my-files"],
        "no other server was started"
    );
    for (name, near) in [
        ("my-files:raed_all", "my-files:read_all"),
        ("my-fils:list", "my-files:list"),
        ("mcp-my-files-lsit", "my-files:list"),
        ("read_al", "my-files:read_all"),
    ] {
        let unknown = catalog.registry().find(name).await.unwrap_err();
        assert!(
            unknown.suggestions.iter().any(|one| one == near),
            "{unknown:?}"
        );
    }
}

#[tokio::test]
async fn a_trial_obeys_the_policy_and_the_schema() {
    let (store, tools) = (MemoryStore::new(), Arc::new(LazyServers::default()));
    tools.set("a", "1", &["x", "ask_me", "delete_it"]);
    let catalog = catalog(&store, &tools);
    let policy = ToolPolicy {
        ask: vec![ToolPattern::parse("*:ask_*").unwrap()],
        deny: Vec::new(),
    };
    let attempt = |name, input| catalog.prepare_trial(name, input, &policy);
    let good = Value::object([("n", 3.into())]);
    assert!(attempt("a:x", good.clone()).await.is_ok());
    for (name, says) in [("a:ask_me", "approval"), ("a:delete_it", "destructive")] {
        match attempt(name, good.clone()).await.unwrap_err() {
            TrialError::Forbidden {
                message, approval, ..
            } => {
                assert!(approval && message.contains(says), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    let bad = attempt("a:x", Value::object([("m", 3.into())])).await;
    assert!(matches!(bad.unwrap_err(), TrialError::Parameters { .. }));
}

#[tokio::test]
async fn five_thousand_tools_of_fifty_servers_are_listed_and_searched_at_once() {
    let (store, tools) = (MemoryStore::new(), Arc::new(LazyServers::default()));
    let many: Vec<_> = (0..100).map(|n| format!("tool_number_{n}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for n in 0..50 {
        tools.set(&format!("server{n:02}"), "1", &many);
    }
    catalog(&store, &tools).registry().list().await.unwrap();
    assert_eq!(store.list("registry").await.unwrap().len(), 50);
    for server in tools.servers.lock().unwrap().values_mut() {
        server.awake = false;
    }
    let cold = catalog(&store, &tools);
    let began = Instant::now();
    let list = cold.registry().list().await.unwrap();
    assert_eq!((list.tools.len(), tools.asked()), (5_000, 50));
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    let began = Instant::now();
    let found = cold.registry().search("server07 tool number 42", 5).await;
    assert_eq!(
        found.unwrap().1[0].tool.name.to_string(),
        "server07:tool_number_42"
    );
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}
