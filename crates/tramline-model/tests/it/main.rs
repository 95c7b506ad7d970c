//! Models over a real connection: a loopback server with scripted answers acts as the endpoint.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cassettes;
mod dialects;
mod failures;
mod loops;
mod server;

use std::time::Duration;
use tramline_engine::ports::{Message, Prompt, Role};
use tramline_expr::Value;
use tramline_model::{ApiKey, Dialect, Endpoint, HttpModel};

/// A model at a scripted server, with short timeouts.
fn model(dialect: Dialect, url: &str) -> HttpModel {
    HttpModel::new(endpoint(dialect, url))
}

fn endpoint(dialect: Dialect, url: &str) -> Endpoint {
    Endpoint {
        url: format!("{url}/v1"),
        key: Some(ApiKey::new("sk-very-secret")),
        timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_millis(400),
        ..Endpoint::new(dialect, "small")
    }
}

fn prompt(text: &str, schema: Option<Value>) -> Prompt {
    let said = |role, text: &str| Message {
        role,
        text: text.to_owned(),
    };
    Prompt {
        messages: vec![said(Role::System, "Be short."), said(Role::User, text)],
        schema,
        tokens_max: 50,
        ..Prompt::default()
    }
}
