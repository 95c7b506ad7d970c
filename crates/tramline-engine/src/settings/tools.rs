//! Tools whose answers hold no secrets: every call's output, failure and progress is redacted.

use super::Settings;
use crate::seams::{Call, Exchange, Listed, Listing, Source, Tool, Tools};
use async_trait::async_trait;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::question::FileChange;
use tramline_core::{Str, Value};

impl Settings {
    /// A tool without the secrets that its server puts into what it says of it. Nothing where its
    /// name holds one: under another name it could not be called.
    pub fn redact_tool(&self, tool: Tool) -> Option<Tool> {
        let Some(redactor) = self.redactor() else {
            return Some(tool);
        };
        if let Cow::Owned(_) = redactor.text(&tool.name.tool) {
            return None;
        }
        let text = |text: Str| match redactor.text(&text) {
            Cow::Owned(clean) => clean.into(),
            Cow::Borrowed(_) => text,
        };
        let value = |value: Value| redactor.changed(&value).unwrap_or(value);
        Some(Tool {
            title: tool.title.map(text),
            description: tool.description.map(text),
            input_schema: value(tool.input_schema),
            output_schema: tool.output_schema.map(value),
            ..tool
        })
    }
}

/// Tools, and what may not come out of them.
pub(crate) struct Discreet {
    tools: Arc<dyn Tools>,
    settings: Settings,
}

impl Discreet {
    pub(crate) fn new(tools: Arc<dyn Tools>, settings: Settings) -> Self {
        Self { tools, settings }
    }

    /// Knows the secrets of now, or says why nothing may be called: what is not known cannot be
    /// kept out of an answer.
    async fn ready(&self) -> Result<(), Failure> {
        self.settings.refresh().await.map_err(|fault| {
            let data = Value::object([("sent", false.into())]);
            Failure::new(FailureKind::Unavailable, fault.to_string()).with_data(data)
        })
    }
}

#[async_trait]
impl Tools for Discreet {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.tools.known(name)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        self.ready().await?;
        let found = self.tools.find(name).await;
        found.map_err(|failure| self.settings.redact_failure(failure))
    }

    async fn list(&self) -> Vec<Listing> {
        if let Err(failure) = self.ready().await {
            let server = "settings".into();
            let tools = Err(failure);
            return vec![Listing { server, tools }];
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

    fn sources(&self) -> Vec<Source> {
        self.tools.sources()
    }

    async fn ask(&self, server: &str) -> Option<Listed> {
        if let Err(failure) = self.ready().await {
            return Some(Err(failure));
        }
        let listed = self.tools.ask(server).await?;
        Some(listed.map_err(|failure| self.settings.redact_failure(failure)))
    }

    async fn preview(&self, name: &ToolName, arguments: &Value) -> Option<FileChange> {
        self.ready().await.ok()?;
        let mut change = self.tools.preview(name, arguments).await?;
        let redact = |text: &Str| Str::from(self.settings.redact_text(text).into_owned());
        for text in [&mut change.from, &mut change.diff, &mut change.note] {
            *text = text.as_ref().map(redact);
        }
        change.path = redact(&change.path);
        Some(change)
    }

    async fn document(&self, path: &str, patience: Duration) -> Result<String, Failure> {
        self.ready().await?;
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

    async fn call(&self, mut call: Call) -> Result<Value, Failure> {
        self.ready().await?;
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
