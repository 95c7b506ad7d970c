//! The official cases whose expression is a single call with literal arguments.

use super::*;
use crate::value::Map;
use std::path::PathBuf;

/// The path of shared test data, if it exists. In CI it must.
fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TRAMLINE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is missing",
        path.display()
    );
    println!("not run: {} is missing", path.display());
    None
}

/// The name and arguments of `$name(…)`, if all arguments are literals.
fn call(expr: &str) -> Option<(String, Vec<Value>)> {
    let expr = expr.trim().strip_prefix('$')?.strip_suffix(')')?;
    let (name, arguments) = expr.split_once('(')?;
    // JSON except for single quotes and undefined, which no case puts inside a text.
    let json = arguments.replace('\'', "\"").replace('\n', "\\n");
    let json = format!("[{json}]").replace("1E", "1e");
    Some((name.to_owned(), serde_json::from_str(&json).ok()?))
}

pub(super) fn run(name: &str, arguments: &[Value]) -> Option<Result<Option<Value>, TextError>> {
    let number = |at: usize| arguments.get(at).and_then(Value::as_f64);
    let text = |at: usize| arguments.get(at).and_then(Value::as_str);
    let empty = Map::new();
    let options = arguments
        .get(2)
        .map(|value| value.as_object().unwrap_or(&empty));
    let some = |outcome: Result<String, TextError>| outcome.map(|text| Some(text.into()));
    Some(match name {
        "formatNumber" => some(format_number(number(0)?, text(1)?, options)),
        "formatInteger" => some(format_integer(number(0)?, text(1)?)),
        "formatBase" => some(format_base(number(0)?, number(1))),
        "fromMillis" => some(from_millis(number(0)? as i64, text(1), text(2))),
        "parseInteger" => parse_integer(text(0)?, text(1)?).map(|found| found.map(Value::from)),
        "toMillis" => to_millis(text(0)?, text(1), 0).map(|found| found.map(Value::from)),
        _ => return None,
    })
}

#[test]
fn official_cases() {
    let Some(groups) = shared("data/jsonata-suite/groups") else {
        return;
    };
    let (mut ran, mut wrong) = (0, Vec::new());
    for group in [
        "formatNumber",
        "formatInteger",
        "parseInteger",
        "formatBase",
        "fromMillis",
        "tomillis",
    ] {
        for file in std::fs::read_dir(groups.join(format!("function-{group}"))).unwrap() {
            let json = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let cases: Value = serde_json::from_str(&json).unwrap();
            let cases = cases
                .as_array()
                .map_or(vec![cases.clone()], <[Value]>::to_vec);
            for case in cases {
                let expr = case.get("expr").and_then(Value::as_str).unwrap_or("");
                let Some(outcome) = call(expr).and_then(|(name, args)| run(&name, &args)) else {
                    continue;
                };
                ran += 1;
                let right = match (&outcome, case.get("code")) {
                    (Err(error), code) => code.and_then(Value::as_str) == Some(error.code),
                    (Ok(_), Some(_)) => false,
                    (Ok(result), None) => result.as_ref() == case.get("result"),
                };
                if !right {
                    wrong.push(format!("{expr} gave {outcome:?}, not {case:?}"));
                }
            }
        }
    }
    println!("{ran} official cases ran");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 220, "only {ran} cases could be read");
}
