//! Ten thousand generated rules, each evaluated here and by the npm package `json-logic-js`.

use super::*;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const RULES: usize = 10_000;
const SEED: u64 = 0x5eed_1061c;

/// Reads `[rule, data]` per line and prints `{"value": …}` or `{"throws": …}`.
const SCRIPT: &str = r#"
const logic = require(process.argv[1]);
console.log = () => {};
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const answers = lines.map((line) => {
  const [rule, data] = JSON.parse(line);
  try {
    const value = logic.apply(rule, data);
    return JSON.stringify({ value: value === undefined ? null : value });
  } catch (error) {
    return JSON.stringify({ throws: String(error.message) });
  }
});
process.stdout.write(answers.join("\n"));
"#;

/// A small random number generator with a fixed seed, so that every run makes the same rules.
struct RuleGenerator(u64);

impl RuleGenerator {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.roll(list.len())]
    }

    fn constant(&mut self) -> Json {
        let list = [
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(1),
            json!(-1),
            json!(2.5),
            json!(1e21),
            json!(1e-7),
            json!(""),
            json!("0"),
            json!("1"),
            json!(" 12 "),
            json!("3x"),
            json!("-.5e1"),
            json!("0x10"),
            json!("abc"),
            json!("b"),
            json!("Infinity"),
            json!("1,2"),
            json!("true"),
            json!("null"),
            json!("é😀z"),
            json!([]),
            json!([1]),
            json!(["1"]),
            json!([1, 2, 3]),
            json!([null]),
            json!([[], [2]]),
            json!(["a", "b", "s"]),
            json!({}),
            json!({"a": 1, "b": 2}),
        ];
        self.pick(&list).clone()
    }

    fn var(&mut self, depth: usize) -> Json {
        let paths = [
            json!("a"),
            json!("b"),
            json!("s"),
            json!("t"),
            json!("z"),
            json!("n"),
            json!("l"),
            json!("l.0"),
            json!("l.length"),
            json!("o"),
            json!("o.p"),
            json!("o.p.q"),
            json!("o.list.1.k"),
            json!("nope"),
            json!("o.nope.x"),
            json!(""),
            json!(0),
            json!(1),
            json!(null),
            json!("s.1"),
            json!("current"),
            json!("accumulator"),
            json!("x"),
            json!("e"),
            json!("objects"),
            json!([]),
        ];
        let path = self.pick(&paths).clone();
        match self.roll(6) {
            0 => json!({"var": [path, self.rule(depth)]}),
            1 => json!({"var": [path]}),
            // Text that is not a path would be JSONata here, so the path is always computed.
            2 if depth > 0 => json!({"var": {"log": [self.rule(depth - 1)]}}),
            _ => json!({ "var": path }),
        }
    }

    fn rule(&mut self, depth: usize) -> Json {
        if depth == 0 {
            return if self.roll(2) == 0 {
                self.constant()
            } else {
                self.var(0)
            };
        }
        let names = [
            "==",
            "===",
            "!=",
            "!==",
            "!",
            "!!",
            "or",
            "and",
            "if",
            "?:",
            ">",
            ">=",
            "<",
            "<=",
            "max",
            "min",
            "+",
            "-",
            "*",
            "/",
            "%",
            "map",
            "filter",
            "reduce",
            "all",
            "none",
            "some",
            "merge",
            "in",
            "cat",
            "substr",
            "log",
            "missing",
            "missing_some",
        ];
        match self.roll(10) {
            0 => return self.constant(),
            1 | 2 => return self.var(depth - 1),
            3 => {
                let count = self.roll(3);
                return (0..count).map(|_| self.rule(depth - 1)).collect();
            }
            _ => {}
        }
        let name = *self.pick(&names);
        let least = match name {
            "*" => 1,
            "missing_some" => 2,
            _ => 0,
        };
        let mut count = match self.roll(8) {
            0 => 0,
            1 => 1,
            2..=5 => 2,
            _ => 3,
        };
        count = count.max(least);
        let mut arguments: Vec<Json> = (0..count).map(|_| self.rule(depth - 1)).collect();
        if name == "missing_some" {
            // Without a list of keys the package fails, even in an argument that is never read.
            arguments[1] = json!({"merge": [arguments[1]]});
        }
        if let ("map" | "filter" | "reduce" | "all" | "none" | "some", Some(list)) =
            (name, arguments.first_mut())
            && self.roll(3) > 0
        {
            let lists = [
                json!({"var": "l"}),
                json!({"var": "objects"}),
                json!([1, 0, "x"]),
            ];
            *list = self.pick(&lists).clone();
        }
        if count == 1 && self.roll(2) == 0 && !arguments[0].is_array() {
            return json!({ name: arguments[0] });
        }
        json!({ name: arguments })
    }

    fn data(&mut self) -> Json {
        let list = [
            json!({
                "a": 1, "b": "2", "s": "text", "t": true, "z": 0, "n": null, "e": "",
                "l": [3, "1", null, 0, 7.5], "x": [],
                "o": {"p": {"q": 5, "r": 6}, "list": [1, {"k": "v", "m": 1}]},
                "objects": [{"a": 1, "s": "p"}, {"a": "2", "x": [1]}, {}],
            }),
            json!({"a": {}, "b": [1, 2], "s": "12", "l": ["a", "b", "nope"], "o": null}),
            json!([10, "20", [30]]),
            json!("plain text"),
            json!(null),
            json!(7),
        ];
        match self.roll(3) {
            0 => self.pick(&list).clone(),
            _ => list[0].clone(),
        }
    }
}

/// Where npm packages are installed for tests, if they are. In CI they must be.
fn package() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")),
        PathBuf::from,
    );
    let path = target.join("tools/node_modules/json-logic-js");
    if path.exists() {
        return path.canonicalize().ok();
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is missing",
        path.display()
    );
    println!("not run: {} is missing", path.display());
    None
}

fn answers(package: &std::path::Path, lines: &str) -> Vec<Json> {
    let mut node = Command::new("node")
        .args(["-e", SCRIPT])
        .arg(package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    node.stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = node.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn generated_rules_agree_with_json_logic_js() {
    let Some(package) = package() else {
        return;
    };
    let mut dice = RuleGenerator(SEED);
    let cases: Vec<(Json, Json)> = (0..RULES)
        .map(|_| {
            let depth = 1 + dice.roll(4);
            (dice.rule(depth), dice.data())
        })
        .collect();
    let lines: Vec<String> = cases
        .iter()
        .map(|case| json!([case.0, case.1]).to_string())
        .collect();
    let theirs = answers(&package, &lines.join("\n"));
    assert_eq!(theirs.len(), RULES);
    let mut wrong = Vec::new();
    for ((rule, data), theirs) in cases.into_iter().zip(theirs) {
        let shown = format!("{rule} over {data}");
        let ours = Rule::compile(&value(rule), &HostFunctions::none())
            .map_err(|error| error.error)
            .and_then(|rule| rule.evaluate(&value(data), &NoHost, &Limits::default()));
        let same = match (&ours, theirs.get("value")) {
            (Ok(ours), Some(theirs)) => *ours == value(theirs.clone()),
            (Err(_), None) => true,
            _ => false,
        };
        if !same {
            wrong.push(format!("{shown}\n  ours {ours:?}\n  theirs {theirs}"));
        }
    }
    println!("{} of {RULES} rules agree", RULES - wrong.len());
    assert!(
        wrong.is_empty(),
        "{} differ, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
