//! Servers at an address: streamable HTTP, with the configured headers on every request.

use super::Options;
use super::http_client::Client;
use crate::config::{Unset, expand, unset};
use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::{BTreeMap, HashMap};
use tramline_core::failure::{Failure, FailureKind};

/// The transport of a server at an address.
pub(super) type Transport = StreamableHttpClientTransport<Client>;

/// What a configuration says about an address.
pub(super) struct Address<'a> {
    pub(super) server: &'a str,
    pub(super) url: &'a str,
    pub(super) headers: &'a BTreeMap<String, String>,
    pub(super) sse: bool,
}

impl Address<'_> {
    /// A transport to the address; nothing is sent yet.
    pub(super) fn open(&self, options: &Options, at_once: usize) -> Result<Transport, Failure> {
        let url = self.fill(self.url, "url", options)?;
        let mut headers = HashMap::with_capacity(self.headers.len());
        for (name, value) in self.headers {
            let value = self.fill(value, &format!("headers.{name}"), options)?;
            let (name, value) = self.header(name, &value)?;
            headers.insert(name, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(headers)
            .max_concurrent_requests(at_once)
            .max_sse_event_size(options.answer_bytes_max);
        let client = Client::new(options.answer_bytes_max);
        let client = client.map_err(|fault| self.cannot(fault.to_string()))?;
        Ok(Transport::with_client(client, config))
    }

    /// Makes words about a failed handshake fit to be shown: no expanded url, and a hint where the
    /// server seems to be of the kind before streamable HTTP.
    pub(super) fn explain(&self, says: &str, options: &Options) -> String {
        let url = self.fill(self.url, "url", options).unwrap_or_default();
        // Keys in the query of a url are secrets too.
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
            "{says}; it may speak only the SSE transport of 2024-11-05, which is not supported: \
             use its streamable HTTP address (often the same with /mcp for /sse)"
        )
    }

    fn header(&self, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
        let bad = |what| {
            self.cannot(format!(
                "`headers.{name}` is not a valid HTTP header {what}"
            ))
        };
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("name"))?;
        Ok((name, value))
    }

    fn fill(&self, text: &str, place: &str, options: &Options) -> Result<String, Failure> {
        expand(text, &*options.lookup).map_err(|Unset(name)| {
            self.cannot(format!("`{place}` uses ${{{name}}}, and {}", unset(&name)))
        })
    }

    fn cannot(&self, why: String) -> Failure {
        let message = format!("server `{}` cannot be reached: {why}", self.server);
        Failure::new(FailureKind::Unavailable, message)
    }
}
