//! Arbitrary JSON as a server configuration: parsed with its variables expanded, or rejected with
//! flaws.

use tramline_expr::Value;
use tramline_mcp_client::config;

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = config::expand(text, &|name| Some(format!("<{name}>")));
    let _ = config::expand(text, &|_| None);
    let Ok(value) = Value::from_json(text) else {
        return;
    };
    match config::read(&value) {
        Ok(servers) => {
            for server in servers {
                let _ = (
                    server.settings(),
                    server.fingerprint(),
                    format!("{server:?}"),
                );
            }
        }
        Err(flaws) => assert!(!flaws.is_empty()),
    }
}
