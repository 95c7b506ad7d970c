//! JSON-RPC error responses for messages that cannot be read.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

/// The body is not JSON.
const PARSE_ERROR: i32 = -32700;
/// The body is JSON, but not a valid message.
const INVALID_REQUEST: i32 = -32600;

/// The response to a body that is not a message.
pub(super) fn error_response(body: &[u8]) -> Response {
    let (code, message, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (
            PARSE_ERROR,
            format!("the body is not JSON: {error}"),
            Value::Null,
        ),
        Ok(read) => {
            let says =
                "the body is not a single JSON-RPC 2.0 message of MCP; batches are not supported";
            let id = read.get("id").filter(|id| id.is_string() || id.is_i64());
            (
                INVALID_REQUEST,
                says.to_owned(),
                id.cloned().unwrap_or_default(),
            )
        }
    };
    let error = json!({"code": code, "message": message});
    let told = json!({"jsonrpc": "2.0", "id": id, "error": error});
    super::json_response(StatusCode::BAD_REQUEST, &told)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(body: &str) -> (StatusCode, Value) {
        let response = error_response(body.as_bytes());
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16)
            .await
            .unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn what_is_no_json_and_what_is_no_message_are_told_apart() {
        for text in ["", "{", "nonsense", "{\"a\": 1e999}", "\u{0}"] {
            let (status, told) = told(text).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
            assert_eq!(
                (&told["error"]["code"], &told["id"]),
                (&json!(-32700), &Value::Null)
            );
        }
        for (text, id) in [
            ("[]", Value::Null),
            ("7", Value::Null),
            ("{\"id\": 7}", json!(7)),
            ("{\"id\": \"x\", \"jsonrpc\": \"1.0\"}", json!("x")),
            ("{\"id\": {}}", Value::Null),
        ] {
            let (_, told) = told(text).await;
            assert_eq!(
                (&told["error"]["code"], &told["id"]),
                (&json!(-32600), &id),
                "{text}"
            );
        }
    }
}
