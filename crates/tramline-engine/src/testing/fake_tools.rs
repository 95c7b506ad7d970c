//! Tools that are closures, for engine tests that need no server.

use crate::ports::{Exchange, ServerSource, ServerTools, Tool, ToolCallRequest, ToolHints, Tools};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

type Script = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync>;

/// Tools by name, each a closure, with a record of every call.
#[derive(Default)]
pub struct FakeTools {
    tools: BTreeMap<ToolName, (Arc<Tool>, Script)>,
    delay: Duration,
    unreachable: BTreeMap<Str, Failure>,
    calls: Mutex<Vec<FakeCall>>,
}

/// One call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct FakeCall {
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    pub arguments: Value,
    /// The idempotency key.
    pub key: Str,
    /// How it ended, once it has: the failure's kind, or `None` for an output.
    pub ended: Option<Option<FailureKind>>,
}

impl FakeTools {
    /// An empty set of tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools that the contract requires: `echo`, `fail` and `sleep`, on one server.
    pub fn contract_tools(server: &str) -> Self {
        let safe = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        Self::new()
            .tool(server, "echo", safe, |arguments| async { Ok(arguments) })
            .tool(server, "fail", safe, |arguments| async move {
                let message = arguments.get("message").and_then(Value::as_str);
                let message = message.unwrap_or("it failed");
                Err(Failure::new(FailureKind::Tool, message))
            })
            .tool(server, "sleep", safe, |arguments| async move {
                let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(Value::Null)
            })
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<F, R>(mut self, server: &str, tool: &str, hints: ToolHints, script: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let name = ToolName::new(server, tool);
        let listed = Tool {
            name: name.clone(),
            title: None,
            description: None,
            input_schema: Value::object([("type", "object".into())]),
            output_schema: None,
            hints,
        };
        let script: Script = Arc::new(move |arguments| Box::pin(script(arguments)));
        self.tools.insert(name, (Arc::new(listed), script));
        self
    }

    /// Sets the description and the input schema of a tool.
    #[must_use]
    pub fn described(mut self, server: &str, tool: &str, says: &str, schema: &str) -> Self {
        if let Some((listed, _)) = self.tools.get_mut(&ToolName::new(server, tool)) {
            let mut told = Tool::clone(listed);
            told.description = Some(says.into());
            told.input_schema = Value::from_json(schema).unwrap_or_default();
            *listed = Arc::new(told);
        }
        self
    }

    /// Adds a server that cannot be reached, with the reason.
    #[must_use]
    pub fn unreachable(mut self, server: &str, reason: &str) -> Self {
        let failure = Failure::new(FailureKind::Unavailable, reason);
        self.unreachable.insert(server.into(), failure);
        self
    }

    /// Makes every call take this much longer.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<FakeCall> {
        self.record().clone()
    }

    fn record(&self) -> MutexGuard<'_, Vec<FakeCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &ToolName) -> Result<&(Arc<Tool>, Script), Failure> {
        self.tools.get(name).ok_or_else(|| {
            let message = format!("there is no tool {name}");
            Failure::new(FailureKind::UnknownTool, message)
        })
    }

    fn record_call(&self, call: &ToolCallRequest) -> usize {
        let mut record = self.record();
        record.push(FakeCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            key: call.key.clone(),
            ended: None,
        });
        record.len() - 1
    }
}

#[async_trait]
impl Tools for FakeTools {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.tools.get(name).map(|(tool, _)| Arc::clone(tool))
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.get(name).map(|(tool, _)| Arc::clone(tool))
    }

    async fn list(&self) -> Vec<ServerTools> {
        let sources = self.sources().into_iter();
        let listing = |source: ServerSource| ServerTools {
            tools: match self.unreachable.get(&source.server) {
                Some(failure) => Err(failure.clone()),
                None => Ok(source.tools.map(Arc::unwrap_or_clone).unwrap_or_default()),
            },
            server: source.server,
        };
        sources.map(listing).collect()
    }

    fn sources(&self) -> Vec<ServerSource> {
        let mut servers = BTreeMap::<Str, Vec<_>>::new();
        for (name, (tool, _)) in &self.tools {
            let tools = servers.entry(name.server.clone()).or_default();
            tools.push(Arc::clone(tool));
        }
        let source = |(server, tools)| ServerSource {
            server,
            fingerprint: None,
            tools: Some(Arc::new(tools)),
        };
        let silent = self.unreachable.keys().map(|server| ServerSource {
            server: server.clone(),
            fingerprint: None,
            tools: None,
        });
        servers.into_iter().map(source).chain(silent).collect()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        let (_, script) = self.get(&call.tool)?;
        if !matches!(call.arguments, Value::Object(_) | Value::Null) {
            let message = format!("the arguments of {} must be an object", call.tool);
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let at = self.record_call(&call);
        let work = async {
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            script(call.arguments.clone()).await
        };
        let failed = |kind, says| {
            let failure = Failure::new(kind, format!("{} {says}", call.tool));
            Err(failure.after_sending())
        };
        let result = tokio::select! {
            biased;
            () = call.cancel.cancelled() => failed(FailureKind::Cancelled, "was cancelled"),
            result = work => result,
            () = tokio::time::sleep(call.timeout) => failed(FailureKind::Timeout, "timed out"),
        };
        self.record()[at].ended = Some(result.as_ref().err().map(|failure| failure.kind));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tools_contract;

    #[tokio::test]
    async fn keeps_the_contract() {
        tools_contract(Arc::new(FakeTools::contract_tools("fake")), "fake").await;
    }

    #[tokio::test]
    async fn remembers_its_calls() {
        let tools = FakeTools::contract_tools("s").delay(Duration::from_millis(1));
        let call = ToolCallRequest {
            tool: ToolName::new("s", "fail"),
            arguments: Value::Null,
            key: "k".into(),
            timeout: Duration::from_secs(5),
            cancel: Default::default(),
            progress: None,
            upstream: None,
        };
        assert!(tools.call(call).await.is_err());
        let calls = tools.calls();
        assert_eq!((calls.len(), calls[0].key.as_str()), (1, "k"));
        assert_eq!(calls[0].ended, Some(Some(FailureKind::Tool)));
    }
}
