//! What is answered to a message that cannot be read, as JSON-RPC says it.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

/// Not JSON at all.
const PARSE_ERROR: i32 = -32700;
/// JSON, but no message of the protocol.
const INVALID_REQUEST: i32 = -32600;

/// The answer to a body that is no message.
pub(super) fn answer(body: &[u8]) -> Response {
    let (code, message, id) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (
            PARSE_ERROR,
            format!("the body is not JSON: {error}"),
            Value::Null,
        ),
        Ok(read) => {
            let says =
                "the body is not one message of JSON-RPC 2.0 as MCP has it; batches are not taken";
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
    super::json(StatusCode::BAD_REQUEST, &told)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told(body: &str) -> (StatusCode, Value) {
        let response = answer(body.as_bytes());
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
