//! The `model` section of a configuration file.

use super::super::model::{ModelConfig, SecretTemplate};
use super::{ConfigReader, present};
use std::path::Path;
use tramline_model::Dialect;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;

impl ConfigReader {
    pub(super) fn model(&mut self, root: Spanned<'_>, directory: &Path) -> Option<ModelConfig> {
        let at = self.section(root, "model", &ModelConfig::FIELDS)?;
        let mut text = |key| present(at, key).and_then(|field| self.text(field, key));
        let path = |text: Option<&str>| text.map(|path| directory.join(path));
        let mut model = ModelConfig {
            dialect: Dialect::OpenAi,
            url: text("url").map(str::to_owned),
            name: text("name").unwrap_or_default().to_owned(),
            key: text("key").map(|key| SecretTemplate(key.to_owned())),
            timeout: None,
            temperature: None,
            record: path(text("record")),
            replay: path(text("replay")),
        };
        let dialect = text("dialect");
        if let (Some(dialect), Some(field)) = (dialect, present(at, "dialect")) {
            match dialect.parse() {
                Ok(dialect) => model.dialect = dialect,
                Err(bad) => self.invalid(field, bad),
            }
        }
        if let Some(field) = present(at, "timeout") {
            model.timeout = self.time(field, "timeout");
        }
        if let Some(field) = present(at, "temperature") {
            model.temperature = field
                .value
                .as_f64()
                .filter(|given| (0.0..=2.0).contains(given));
            if model.temperature.is_none() {
                let message = "`temperature` must be a number from 0 to 2".to_owned();
                self.invalid(field, message);
            }
        }
        if model.name.is_empty() && model.replay.is_none() {
            let message = "the `name` of the model is missing".to_owned();
            self.add(FlawCode::MissingField, at, message, None);
        }
        Some(model)
    }
}
