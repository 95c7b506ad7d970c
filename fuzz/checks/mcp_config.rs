//! Any JSON as a description of servers: they come back with their variables filled in, or flaws.

use tramline_core::Value;
use tramline_mcp::config;

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
                let _ = (server.settings(), server.print(), format!("{server:?}"));
            }
        }
        Err(flaws) => assert!(!flaws.is_empty()),
    }
}
