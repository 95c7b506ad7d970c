//! Servers reached over streamable HTTP, with the configured headers on every request.

use super::ClientOptions;
use super::http_client::LimitedHttpClient;
use crate::config::{UnsetVariable, expand, unset_message};
use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::{BTreeMap, HashMap};
use tramline_workflow::failure::{Failure, FailureKind};

/// Transport of an HTTP server.
pub(super) type HttpTransport = StreamableHttpClientTransport<LimitedHttpClient>;

/// The configured address of an HTTP server.
pub(super) struct HttpAddress<'a> {
    pub(super) server: &'a str,
    pub(super) url: &'a str,
    pub(super) headers: &'a BTreeMap<String, String>,
    pub(super) sse: bool,
}

impl HttpAddress<'_> {
    /// Creates the transport; sends nothing yet.
    pub(super) fn transport(
        &self,
        options: &ClientOptions,
        at_once: usize,
    ) -> Result<HttpTransport, Failure> {
        let url = self.expand(self.url, "url", options)?;
        let mut headers = HashMap::with_capacity(self.headers.len());
        for (name, value) in self.headers {
            let value = self.expand(value, &format!("headers.{name}"), options)?;
            let (name, value) = self.header(name, &value)?;
            headers.insert(name, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(headers)
            .max_concurrent_requests(at_once)
            .max_sse_event_size(options.answer_bytes_max);
        let client = LimitedHttpClient::new(options.answer_bytes_max, options.redact.clone());
        let client = client.map_err(|fault| self.unreachable(fault.to_string()))?;
        Ok(HttpTransport::with_client(client, config))
    }

    /// Makes the message of a failed handshake safe to show: replaces the expanded url, and adds a hint if the
    /// server seems to support only the older SSE transport.
    pub(super) fn explain(&self, says: &str, options: &ClientOptions) -> String {
        let url = self.expand(self.url, "url", options).unwrap_or_default();
        // The query of a url may contain keys.
        let shown = self.url.split('?').next().unwrap_or_default();
        let says = match url.as_str() {
            "" => format!("{shown}: {says}"),
            url => format!("{shown}: {}", says.replace(url, shown)),
        };
        let old = self.sse || self.url.trim_end_matches('/').ends_with("/sse");
        if !old {
            return says;
        }
        format!(
            "{says}; it may support only the HTTP+SSE transport of 2024-11-05, which is not supported: \
             use its streamable HTTP address (often the same url with /mcp instead of /sse)"
        )
    }

    fn header(&self, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
        let bad = |what| {
            self.unreachable(format!(
                "`headers.{name}` is not a valid HTTP header {what}"
            ))
        };
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("name"))?;
        Ok((name, value))
    }

    fn expand(&self, text: &str, place: &str, options: &ClientOptions) -> Result<String, Failure> {
        expand(text, &*options.lookup).map_err(|UnsetVariable(name)| {
            self.unreachable(format!(
                "`{place}` uses ${{{name}}}, and {}",
                unset_message(&name)
            ))
        })
    }

    fn unreachable(&self, why: String) -> Failure {
        let message = format!("cannot reach server `{}`: {why}", self.server);
        Failure::new(FailureKind::Unavailable, message)
    }
}
