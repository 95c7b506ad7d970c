//! Tools that are closures: what the engine is tested with where no server is needed.

use crate::seams::{Call, Exchange, Hints, Listing, Source, Tool, Tools};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};

type Script = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, Failure>> + Send + Sync>;

/// Tools by name, each a closure, with a record of every call.
#[derive(Default)]
pub struct FakeTools {
    tools: BTreeMap<ToolName, (Arc<Tool>, Script)>,
    delay: Duration,
    calls: Mutex<Vec<Called>>,
}

/// One call that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// What was called.
    pub tool: ToolName,
    /// With what.
    pub arguments: Value,
    /// Under which key.
    pub key: Str,
    /// How it ended, once it has: the failure's kind, or nothing for an output.
    pub ended: Option<Option<FailureKind>>,
}

impl FakeTools {
    /// No tools yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set that the contract asks for: `echo`, `fail` and `sleep`, on one server.
    pub fn usual(server: &str) -> Self {
        let safe = Hints {
            read_only: Some(true),
            ..Hints::default()
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

    /// The same with one tool more.
    #[must_use]
    pub fn tool<F, R>(mut self, server: &str, tool: &str, hints: Hints, script: F) -> Self
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

    /// The same, with what one of its tools says of itself and of its arguments.
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

    /// The same, with every call taking so much longer.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Every call so far, in the order they came.
    pub fn calls(&self) -> Vec<Called> {
        self.record().clone()
    }

    fn record(&self) -> MutexGuard<'_, Vec<Called>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &ToolName) -> Result<&(Arc<Tool>, Script), Failure> {
        self.tools.get(name).ok_or_else(|| {
            let message = format!("there is no tool {name}");
            Failure::new(FailureKind::UnknownTool, message)
        })
    }

    fn note(&self, call: &Call) -> usize {
        let mut record = self.record();
        record.push(Called {
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

    async fn list(&self) -> Vec<Listing> {
        let sources = self.sources().into_iter();
        let listing = |source: Source| Listing {
            server: source.server,
            tools: Ok(source.tools.map(Arc::unwrap_or_clone).unwrap_or_default()),
        };
        sources.map(listing).collect()
    }

    fn sources(&self) -> Vec<Source> {
        let mut servers = BTreeMap::<Str, Vec<_>>::new();
        for (name, (tool, _)) in &self.tools {
            let tools = servers.entry(name.server.clone()).or_default();
            tools.push(Arc::clone(tool));
        }
        let source = |(server, tools)| Source {
            server,
            print: None,
            tools: Some(Arc::new(tools)),
        };
        servers.into_iter().map(source).collect()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        let (_, script) = self.get(&call.tool)?;
        if !matches!(call.arguments, Value::Object(_) | Value::Null) {
            let message = format!("{} takes an object of arguments", call.tool);
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let at = self.note(&call);
        let work = async {
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            script(call.arguments.clone()).await
        };
        let failed = |kind, says| {
            let failure = Failure::new(kind, format!("{} {says}", call.tool));
            Err(failure.after_leaving())
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
        tools_contract(Arc::new(FakeTools::usual("fake")), "fake").await;
    }

    #[tokio::test]
    async fn remembers_its_calls() {
        let tools = FakeTools::usual("s").delay(Duration::from_millis(1));
        let call = Call {
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
