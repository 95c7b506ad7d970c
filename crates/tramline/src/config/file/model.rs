//! The `model` of a configuration file.

use super::super::model::{ModelConfig, Written};
use super::{Reader, given};
use std::path::Path;
use tramline_core::flaw::Code;
use tramline_core::formats::document::At;
use tramline_model::Dialect;

impl Reader {
    pub(super) fn model(&mut self, root: At<'_>, directory: &Path) -> Option<ModelConfig> {
        let at = self.section(root, "model", &ModelConfig::FIELDS)?;
        let mut text = |key| given(at, key).and_then(|field| self.text(field, key));
        let path = |text: Option<&str>| text.map(|path| directory.join(path));
        let mut model = ModelConfig {
            dialect: Dialect::OpenAi,
            url: text("url").map(str::to_owned),
            name: text("name").unwrap_or_default().to_owned(),
            key: text("key").map(|key| Written(key.to_owned())),
            timeout: None,
            temperature: None,
            record: path(text("record")),
            replay: path(text("replay")),
        };
        let dialect = text("dialect");
        if let (Some(dialect), Some(field)) = (dialect, given(at, "dialect")) {
            match dialect.parse() {
                Ok(dialect) => model.dialect = dialect,
                Err(bad) => self.bad(field, bad),
            }
        }
        if let Some(field) = given(at, "timeout") {
            model.timeout = self.time(field, "timeout");
        }
        if let Some(field) = given(at, "temperature") {
            model.temperature = field
                .value
                .as_f64()
                .filter(|given| (0.0..=2.0).contains(given));
            if model.temperature.is_none() {
                let message = "`temperature` must be a number from 0 to 2".to_owned();
                self.bad(field, message);
            }
        }
        if model.name.is_empty() && model.replay.is_none() {
            let message = "the `name` of the model is missing".to_owned();
            self.add(Code::Missing, at, message, None);
        }
        Some(model)
    }
}
