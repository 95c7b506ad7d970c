//! The section `store`: a database that several replicas share.

use super::super::SharedStoreParts;
use super::{ConfigReader, present};
use tramline_expr::Value;
use tramline_syntax::document::Spanned;

impl ConfigReader {
    /// The address alone, or an object with how this process takes part.
    pub(super) fn store(&mut self, root: Spanned<'_>) -> SharedStoreParts {
        let mut parts = SharedStoreParts::default();
        let Some(at) = present(root, "store") else {
            return parts;
        };
        if let Value::String(url) = at.value {
            parts.url = Some(url.to_string());
            return parts;
        }
        let known = ["url", "replica", "lease", "pools"];
        let Some(at) = self.section(root, "store", &known) else {
            return parts;
        };
        let text = |reader: &mut Self, key: &str| {
            let text = present(at, key).and_then(|at| reader.text(at, key));
            text.map(|text| text.to_string())
        };
        parts.url = text(self, "url");
        parts.replica = text(self, "replica");
        if let Some(field) = present(at, "lease") {
            parts.lease = self.time(field, "lease");
        }
        let pools = self.texts(at, "pools").into_iter();
        parts.pools = pools.map(|(pool, _)| pool.to_string()).collect();
        if known.iter().all(|key| present(at, key).is_none()) {
            self.wrong_type(at, "store", "an address such as postgres://host/database");
        }
        parts
    }
}
