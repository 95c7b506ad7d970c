//! The official suites: all of the classic language, and what it shares with the extended ones.

use super::*;
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

fn passes(case: &Value) -> bool {
    let field = |name| case.get(name).cloned().unwrap_or_default();
    let Ok(rule) = Rule::compile(&field("rule"), &HostFunctions::none()) else {
        return false;
    };
    let result = rule.evaluate(&field("data"), &NoHost, &Limits::default());
    case.get("error").is_none() && result == Ok(field("result"))
}

fn cases(file: &std::path::Path) -> Vec<Value> {
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    cases
        .into_iter()
        .filter(|case| case.as_object().is_some())
        .collect()
}

#[test]
fn the_classic_language_passes() {
    let Some(folder) = shared("data/jsonlogic-suite") else {
        return;
    };
    let mut count = 0;
    for file in [
        "compatible.json",
        "var.extra.json",
        "control/not.json",
        "control/doublebang.json",
        "string/in.json",
        "string/cat.json",
        "string/substr.json",
        "array/merge.json",
    ] {
        for case in cases(&folder.join(file)) {
            assert!(passes(&case), "{file}: {case}");
            count += 1;
        }
    }
    println!("{count} cases of the classic language pass");
    assert!(count >= 275);
}

/// How many cases of the other files `json-logic-js` 2.0.5 passes: the rest are in dialects that
/// disagree with it. A few fewer where an unknown operator is in a branch that is not taken.
#[test]
fn the_other_suites_pass_where_json_logic_js_does() {
    let Some(folder) = shared("data/jsonlogic-suite") else {
        return;
    };
    let mut wrong = Vec::new();
    for (file, passing) in [
        ("arithmetic/plus.json", 17),
        ("arithmetic/multiply.json", 13),
        ("arithmetic/minus.json", 8),
        ("arithmetic/divide.json", 6),
        ("arithmetic/modulo.json", 12),
        ("comparison/greaterThan.json", 24),
        ("comparison/greaterThanEquals.json", 17),
        ("comparison/lessThan.json", 35),
        ("comparison/lessThanEquals.json", 13),
        ("comparison/softEquals.json", 24),
        ("comparison/softNotEquals.json", 23),
        ("comparison/strictEquals.json", 26),
        ("comparison/strictNotEquals.json", 26),
        ("control/and.json", 20),
        ("control/if.json", 38),
        ("control/or.json", 19),
        ("array/map.json", 12),
        ("array/filter.json", 10),
        ("array/reduce.json", 8),
        ("array/all.json", 10),
        ("array/some.json", 11),
        ("array/none.json", 11),
        ("truthiness.json", 9),
        ("chained.json", 2),
    ] {
        let passed = cases(&folder.join(file))
            .iter()
            .filter(|case| passes(case))
            .count();
        wrong.extend((passed < passing).then(|| format!("{file}: {passed} of {passing}")));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
