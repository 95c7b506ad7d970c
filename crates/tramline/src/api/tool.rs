//! Tools of the program itself: an async closure that graphs can call like any server's tool.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;
use tramline_builtin::SERVER;
use tramline_engine::long_work;
use tramline_engine::ports::{self, ServerTools, ToolCallRequest, ToolHints, Tools};
use tramline_expr::{Str, Value};
use tramline_views::pause_view::FileChange;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::schema::Checker;
use tramline_workflow::text::nearest;

/// At most this many tools of a program's own: planners and searches read all of them.
const TOOLS_MAX: usize = 10_000;

type ToolFuture = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type ToolFn = dyn Fn(Value) -> ToolFuture + Send + Sync;

/// A tool of the program itself. Clones share the closure.
///
/// An `Err` from the closure, or a panic, fails the step with its message. Unless declared
/// otherwise ([`Tool::read_only`], [`Tool::idempotent`]), a tool is treated as changing something:
/// a call that was in flight when the process died is asked about, not repeated.
#[derive(Clone)]
pub struct Tool {
    name: Str,
    description: Str,
    input_schema: Json,
    output_schema: Option<Json>,
    hints: ToolHints,
    work: Arc<ToolFn>,
}

impl Tool {
    /// A tool whose arguments are a Rust type: its schema is what callers must match.
    pub fn new<A, R, E, F>(
        name: impl Into<Str>,
        description: impl Into<Str>,
        work: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize,
        E: fmt::Display,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let schema = schemars::schema_for!(A).to_value();
        Self::with_schema(name, description, schema, work)
    }

    /// A tool with an explicit schema; arguments are deserialized to any type that fits it, which
    /// may be `serde_json::Value`.
    pub fn with_schema<A, R, E, F>(
        name: impl Into<Str>,
        description: impl Into<Str>,
        input_schema: Json,
        work: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        R: Serialize,
        E: fmt::Display,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let work = move |arguments: Value| -> ToolFuture {
            match serde_json::from_value::<A>(Json::from(&arguments)) {
                Err(error) => Box::pin(std::future::ready(Err(bad_arguments(error.to_string())))),
                Ok(arguments) => {
                    let working = work(arguments);
                    Box::pin(async move { output(working.await) })
                }
            }
        };
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            output_schema: None,
            hints: ToolHints::default(),
            work: Arc::new(work),
        }
    }

    /// Declares the schema of its output.
    #[must_use]
    pub fn output_schema(mut self, schema: Json) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Declares that it changes nothing: a call may be repeated.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.hints.read_only = Some(true);
        self
    }

    /// Declares that a second call with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.hints.idempotent = Some(true);
        self
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

fn bad_arguments(message: String) -> Failure {
    Failure::new(FailureKind::BadArguments, message)
}

fn output<R: Serialize, E: fmt::Display>(ended: Result<R, E>) -> Result<Value, Failure> {
    let output = ended.map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?;
    let json = serde_json::to_value(output);
    json.map(Value::from)
        .map_err(|error| Failure::new(FailureKind::BadAnswer, error.to_string()))
}

/// The program's own tools, by server; calls of other servers' tools are passed on.
pub(crate) struct AppTools {
    servers: RwLock<BTreeMap<Str, AppServer>>,
    rest: Arc<dyn Tools>,
}

/// One server of the program's own tools.
#[derive(Default)]
struct AppServer {
    tools: BTreeMap<Str, Arc<AppTool>>,
    /// The definitions, shared with everybody who lists them.
    listed: Arc<Vec<Arc<ports::Tool>>>,
}

struct AppTool {
    definition: Arc<ports::Tool>,
    checker: Checker,
    work: Arc<ToolFn>,
}

impl AppTool {
    fn new(server: &Str, tool: &Tool) -> Result<Self, String> {
        let name = ToolName::new(server.clone(), tool.name.clone());
        let input_schema = Value::from(tool.input_schema.clone());
        let checker = Checker::new(&input_schema)
            .map_err(|bad| format!("the input schema of {name} is invalid: {bad}"))?;
        let definition = ports::Tool {
            name,
            title: None,
            description: Some(tool.description.clone()),
            input_schema,
            output_schema: tool.output_schema.clone().map(Value::from),
            hints: tool.hints,
        };
        Ok(Self {
            definition: Arc::new(definition),
            checker,
            work: Arc::clone(&tool.work),
        })
    }
}

impl AppTools {
    /// The tools of some servers, if each has a unique name and a valid schema.
    pub(crate) fn new(
        rest: Arc<dyn Tools>,
        servers: &BTreeMap<Str, Vec<Tool>>,
    ) -> Result<Self, String> {
        let own = Self {
            servers: RwLock::default(),
            rest,
        };
        for (server, tools) in servers {
            for tool in tools {
                own.register(server, tool)?;
            }
        }
        Ok(own)
    }

    /// Adds a tool to a server, which need not exist.
    pub(crate) fn register(&self, server: &Str, tool: &Tool) -> Result<(), String> {
        if server == SERVER {
            return Err(format!(
                "`{SERVER}` is reserved for Tramline's built-in tools; choose another server name"
            ));
        }
        let own = AppTool::new(server, tool)?;
        let name = own.definition.name.clone();
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let count: usize = servers.values().map(|server| server.tools.len()).sum();
        if count >= TOOLS_MAX {
            return Err(format!("a program can have {TOOLS_MAX} tools of its own"));
        }
        let shelf = servers.entry(server.clone()).or_default();
        if shelf.tools.contains_key(&name.tool) {
            return Err(format!("there are two tools named {name}; rename one"));
        }
        shelf.tools.insert(name.tool, Arc::new(own));
        let listed = shelf.tools.values().map(|own| Arc::clone(&own.definition));
        shelf.listed = Arc::new(listed.collect());
        Ok(())
    }

    fn servers(&self) -> RwLockReadGuard<'_, BTreeMap<Str, AppServer>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_own(&self, server: &str) -> bool {
        self.servers().contains_key(server)
    }

    fn tool(&self, name: &ToolName) -> Result<Arc<AppTool>, Failure> {
        let servers = self.servers();
        let tools = servers.get(&name.server).map(|server| &server.tools);
        let own = tools.and_then(|tools| tools.get(&name.tool));
        own.cloned().ok_or_else(|| {
            let names = tools.into_iter().flat_map(BTreeMap::keys);
            let near = nearest(&name.tool, names.map(Str::as_str))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format!("unknown tool {name}{near}");
            Failure::new(FailureKind::UnknownTool, message)
        })
    }
}

#[async_trait]
impl Tools for AppTools {
    fn known(&self, name: &ToolName) -> Option<Arc<ports::Tool>> {
        match self.is_own(&name.server) {
            true => self.tool(name).ok().map(|own| Arc::clone(&own.definition)),
            false => self.rest.known(name),
        }
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<ports::Tool>, Failure> {
        match self.is_own(&name.server) {
            true => self.tool(name).map(|own| Arc::clone(&own.definition)),
            false => self.rest.find(name).await,
        }
    }

    async fn list(&self) -> Vec<ServerTools> {
        let own = |(server, shelf): (&Str, &AppServer)| ServerTools {
            server: server.clone(),
            tools: Ok(shelf.listed.to_vec()),
        };
        let mut all: Vec<_> = self.servers().iter().map(own).collect();
        let others = self.rest.list().await;
        all.extend(
            others
                .into_iter()
                .filter(|other| !self.is_own(&other.server)),
        );
        all
    }

    fn sources(&self) -> Vec<ports::ServerSource> {
        let own = |(server, shelf): (&Str, &AppServer)| ports::ServerSource {
            server: server.clone(),
            fingerprint: None,
            tools: Some(Arc::clone(&shelf.listed)),
        };
        let mut all: Vec<_> = self.servers().iter().map(own).collect();
        let others = self.rest.sources();
        all.extend(
            others
                .into_iter()
                .filter(|other| !self.is_own(&other.server)),
        );
        all
    }

    fn starting(&self) -> Vec<ports::StartingServer> {
        self.rest.starting()
    }

    async fn list_server(&self, server: &str) -> Option<ports::ListedTools> {
        let own = self
            .servers()
            .get(server)
            .map(|own| Arc::clone(&own.listed));
        match own {
            Some(listed) => Some(Ok(listed)),
            None => self.rest.list_server(server).await,
        }
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        match self.is_own(&name.server) {
            true => None,
            false => self.rest.preview(name, arguments).await,
        }
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        self.rest.document(path, patience).await
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        match self.is_own(&name.server) {
            true => None,
            false => self.rest.unusable(name),
        }
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<ports::Exchange> {
        match self.is_own(&name.server) {
            true => None,
            false => self.rest.exchange(name, key),
        }
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        if !self.is_own(&call.tool.server) {
            return self.rest.call(call).await;
        }
        let own = self.tool(&call.tool)?;
        let failed = |kind, how: &str| Err(Failure::new(kind, format!("{} {how}", call.tool)));
        if call.cancel.is_cancelled() {
            return failed(FailureKind::Cancelled, "was cancelled");
        }
        if let Err(faults) = own.checker.check_with(&call.arguments, long_work) {
            let told = faults.iter().map(|(at, what)| match at.as_str() {
                "" => what.clone(),
                at => format!("{at}: {what}"),
            });
            return Err(bad_arguments(told.collect::<Vec<_>>().join("; ")));
        }
        let failed = |kind, how: &str| failed(kind, how).map_err(Failure::after_sending);
        // In its own task, so that a panic only fails the step.
        let work = AbortOnDropHandle::new(tokio::spawn((own.work)(call.arguments)));
        tokio::select! {
            done = work => match done {
                Ok(answer) => answer,
                Err(died) => failed(FailureKind::Tool, &format!("panicked: {died}")),
            },
            () = call.cancel.cancelled() => failed(FailureKind::Cancelled, "was cancelled"),
            () = tokio::time::sleep(call.timeout) => {
                let how = format!("timed out after {:?}", call.timeout);
                failed(FailureKind::Timeout, &how)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tramline_engine::testing::{FakeTools, tools_contract};

    fn own(server: &str, tools: &[Tool]) -> Result<AppTools, String> {
        let servers = BTreeMap::from([(server.into(), tools.to_vec())]);
        AppTools::new(Arc::new(FakeTools::new()), &servers)
    }

    #[tokio::test]
    async fn own_tools_keep_the_contract() {
        let echo = |given: Json| async move { Ok::<_, String>(given) };
        let fail = |given: Json| async move {
            Err::<Json, _>(given["message"].as_str().unwrap_or_default().to_owned())
        };
        let sleep = |given: Json| async move {
            tokio::time::sleep(Duration::from_millis(given["ms"].as_u64().unwrap_or(0))).await;
            Ok::<_, String>(Json::Null)
        };
        let object = || json!({ "type": "object" });
        let tools = [
            Tool::with_schema("echo", "Gives back.", object(), echo).read_only(),
            Tool::with_schema("fail", "Fails.", object(), fail),
            Tool::with_schema("sleep", "Sleeps.", object(), sleep),
        ];
        let own = super::tests::own("app", &tools).unwrap();
        tools_contract(Arc::new(own), "app").await;
    }

    #[tokio::test]
    async fn a_panic_is_a_failure() {
        let bad = |given: Json| async move {
            Ok::<_, String>(given["nothing"].as_str().unwrap().to_owned())
        };
        let tool = Tool::with_schema("bad", "Panics.", json!({}), bad);
        let own = super::tests::own("app", &[tool]).unwrap();
        let call = ToolCallRequest {
            tool: ToolName::new("app", "bad"),
            arguments: Value::object::<&str>([]),
            key: "k".into(),
            timeout: Duration::from_secs(5),
            cancel: tokio_util::sync::CancellationToken::new(),
            progress: None,
            upstream: None,
        };
        assert_eq!(own.call(call).await.unwrap_err().kind, FailureKind::Tool);
    }

    #[test]
    fn names_are_free_and_schemas_are_schemas() {
        let tool =
            |schema| Tool::with_schema("x", "X.", schema, |a: Json| async { Ok::<_, String>(a) });
        let twice = [tool(json!({})), tool(json!({}))];
        assert!(own("app", &twice).is_err());
        assert!(own("builtin", &[tool(json!({}))]).is_err());
        assert!(own("app", &[tool(json!({ "type": "strin" }))]).is_err());
    }
}
