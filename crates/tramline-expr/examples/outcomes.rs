//! Reads one `{"expr": .., "input": ..}` per line and prints the outcome of each, for comparison
//! with another implementation. The argument is the number of lines to skip.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use tramline_expr::{Expression, HostFunctions, Limits, Map, NoHost, Value};

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let skip = std::env::args().nth(1);
    let skip = skip.and_then(|it| it.parse().ok()).unwrap_or(0);
    for line in std::io::stdin().lock().lines().skip(skip) {
        let line = line?;
        let Ok(case) = Value::from_json(&line) else {
            writeln!(out, "{{\"code\":\"unreadable\"}}")?;
            continue;
        };
        let source = case.get("expr").and_then(Value::as_str).unwrap_or_default();
        let limits = Limits {
            deadline: Some(Instant::now() + Duration::from_secs(2)),
            ..Limits::default()
        };
        let outcome = Expression::compile(source, &HostFunctions::none())
            .and_then(|it| it.evaluate_with(case.get("input"), None, &NoHost, &limits));
        let mut answer = Map::new();
        match outcome {
            Ok(Some(value)) => {
                answer.insert("value", value);
            }
            Ok(None) => {}
            Err(error) => {
                answer.insert("code", error.code.into());
                if let Some(position) = error.position {
                    answer.insert("position", position.into());
                }
                if let Some(token) = error.token {
                    answer.insert("token", token.into());
                }
            }
        }
        // Flushed one by one: if a case never ends, the results before it are known.
        writeln!(out, "{}", Value::from(answer))?;
        out.flush()?;
    }
    Ok(())
}
