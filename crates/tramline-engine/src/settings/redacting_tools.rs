//! Wraps tools so that the output, failure and progress of every call are redacted.

use super::Settings;
use crate::ports::{
    Exchange, ListedTools, ServerSource, ServerTools, StartingServer, Tool, ToolCallRequest, Tools,
};
use async_trait::async_trait;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tramline_expr::{Str, Value};
use tramline_views::pause_view::FileChange;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

impl Settings {
    /// Redacts the secrets in a tool's definition. `None` if its name contains one, because it could not be called
    /// under another name.
    pub fn redact_tool(&self, tool: Tool) -> Option<Tool> {
        let Some(redactor) = self.redactor() else {
            return Some(tool);
        };
        if let Cow::Owned(_) = redactor.redact_text(&tool.name.tool) {
            return None;
        }
        let text = |text: Str| match redactor.redact_text(&text) {
            Cow::Owned(clean) => clean.into(),
            Cow::Borrowed(_) => text,
        };
        let value = |value: Value| redactor.redact_value(&value).unwrap_or(value);
        Some(Tool {
            title: tool.title.map(text),
            description: tool.description.map(text),
            input_schema: value(tool.input_schema),
            output_schema: tool.output_schema.map(value),
            ..tool
        })
    }
}

/// The same tools, with redacted results if there are settings.
pub fn redacting(tools: Arc<dyn Tools>, settings: Option<&Settings>) -> Arc<dyn Tools> {
    match settings {
        Some(settings) => Arc::new(RedactingTools::new(tools, settings.clone())),
        None => tools,
    }
}

/// Tools whose results are redacted.
struct RedactingTools {
    tools: Arc<dyn Tools>,
    settings: Settings,
}

impl RedactingTools {
    fn new(tools: Arc<dyn Tools>, settings: Settings) -> Self {
        Self { tools, settings }
    }

    /// Loads the current secrets, or returns why nothing may be called: an unknown secret cannot be redacted.
    async fn refresh_secrets(&self) -> Result<(), Failure> {
        self.settings.refresh().await.map_err(|fault| {
            let data = Value::object([("sent", false.into())]);
            Failure::new(FailureKind::Unavailable, fault.to_string()).with_data(data)
        })
    }
}

#[async_trait]
impl Tools for RedactingTools {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.tools.known(name)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.refresh_secrets().await?;
        let found = self.tools.find(name).await;
        found.map_err(|failure| self.settings.redact_failure(failure))
    }

    async fn list(&self) -> Vec<ServerTools> {
        if let Err(failure) = self.refresh_secrets().await {
            let server = "settings".into();
            let tools = Err(failure);
            return vec![ServerTools { server, tools }];
        }
        let listings = self.tools.list().await.into_iter();
        listings
            .map(|mut listing| {
                listing.tools = listing
                    .tools
                    .map_err(|failure| self.settings.redact_failure(failure));
                listing
            })
            .collect()
    }

    fn sources(&self) -> Vec<ServerSource> {
        self.tools.sources()
    }

    fn starting(&self) -> Vec<StartingServer> {
        self.tools.starting()
    }

    async fn list_server(&self, server: &str) -> Option<ListedTools> {
        if let Err(failure) = self.refresh_secrets().await {
            return Some(Err(failure));
        }
        let listed = self.tools.list_server(server).await?;
        Some(listed.map_err(|failure| self.settings.redact_failure(failure)))
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.refresh_secrets().await.ok()?;
        let mut change = self.tools.preview(name, arguments).await?;
        let redact = |text: &Str| Str::from(self.settings.redact_text(text).into_owned());
        for text in [&mut change.from, &mut change.diff, &mut change.note] {
            *text = text.as_ref().map(redact);
        }
        change.path = redact(&change.path);
        Some(change)
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        self.refresh_secrets().await?;
        match self.tools.document(path, patience).await {
            Ok(text) => Ok(self.settings.redact_text(&text).into_owned()),
            Err(failure) => Err(self.settings.redact_failure(failure)),
        }
    }

    fn unusable(&self, name: &ToolName) -> Option<String> {
        self.tools.unusable(name)
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        let kept = self.tools.exchange(name, key)?;
        let redact = |value: Value| self.settings.redact(value);
        let line = |line: &String| self.settings.redact_text(line).into_owned();
        Some(Exchange {
            request: kept.request.map(redact),
            response: kept.response.map(redact),
            stderr: kept.stderr.iter().map(line).collect(),
        })
    }

    async fn call(&self, mut call: ToolCallRequest) -> Result<Value, Failure> {
        self.refresh_secrets().await?;
        if let Some(tell) = call.progress.take() {
            let settings = self.settings.clone();
            call.progress = Some(Arc::new(move |mut progress| {
                let said = progress.message.take();
                progress.message = said.map(|said| settings.redact_text(&said).into_owned());
                tell(progress);
            }));
        }
        match self.tools.call(call).await {
            Ok(output) => Ok(self.settings.redact(output)),
            Err(failure) => Err(self.settings.redact_failure(failure)),
        }
    }
}
