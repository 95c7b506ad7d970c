//! Generated calls of the text functions, each made here and by the npm package `jsonata`.
//!
//! Intended differences (documented in their modules) are not generated.

use super::suite::run;
use super::*;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const CALLS: usize = 10_000;

/// Reads `[function, arguments]` per line and prints `{"value": …}` or `{"code": …}`.
const SCRIPT: &str = r#"
const jsonata = require(process.argv[1]);
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
(async () => {
  const answers = [];
  for (const line of lines) {
    const [name, args] = JSON.parse(line);
    const source = "$" + name + "(" + args.map((_, at) => "a[" + at + "]").join(",") + ")";
    try {
      const value = await jsonata(source).evaluate({ a: args });
      answers.push(JSON.stringify({ value: value === undefined ? null : value }));
    } catch (error) {
      answers.push(JSON.stringify({ code: error.code || String(error.message) }));
    }
  }
  process.stdout.write(answers.join("\n"));
})();
"#;

struct CallGenerator(u64);

impl CallGenerator {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len())]
    }

    fn join(&mut self, count: usize, list: &[&str]) -> String {
        (0..count).map(|_| self.pick(list)).collect()
    }

    fn number(&mut self) -> f64 {
        let digits = self.roll(1_000_000_000) as f64;
        let size = digits / 10_f64.powi(self.roll(12) as i32);
        match self.roll(6) {
            0 => size.trunc(),
            1 => -size,
            2 => self.pick(&[0.0, 0.5, 1.5, 2.5, 1.005, 999.5, 1e14, 1e-7, 0.1]),
            _ => size,
        }
    }

    fn number_picture(&mut self) -> String {
        let integer = self.pick(&["0", "#0", "##00", "#,##0", "#,###", "0,000", "#"]);
        let fraction = self.pick(&["", "", ".0", ".00", ".0##", ".##", ".000,00", "."]);
        let (before, after) = (
            self.pick(&["", "", "$", "("]),
            self.pick(&["", "", "%", "‰", ")"]),
        );
        let mut picture = format!("{before}{integer}{fraction}{after}");
        match self.roll(8) {
            0 => picture = self.join(5, &["#", "0", ".", "%", ";", "x"]),
            1 => picture = format!("{picture};[{integer}]"),
            2 => picture = format!("0{}e{}", fraction.replace(['#', ','], "0"), "0"),
            _ => {}
        }
        picture
    }

    fn marker(&mut self) -> String {
        let letter = self.pick(&[
            "Y", "M", "D", "d", "F", "W", "w", "X", "x", "H", "h", "P", "m", "s", "f", "Z", "z",
            "C",
        ]);
        let look = match letter {
            "Z" | "z" => self.pick(&["", "0", "01", "0001", "01:01", "01:01t", "0101t"]),
            "F" | "M" | "x" => self.pick(&[
                "", "1", "01", "N", "n", "Nn", "Nn,3-3", "w", "Wo", "I", "A", "1o",
            ]),
            _ => self.pick(&[
                "", "1", "01", "0001", "1o", "w", "W", "Ww", "i", "a", "#1", "1,2", ",2-2",
            ]),
        };
        format!("[{letter}{look}]")
    }

    fn date_picture(&mut self) -> String {
        let count = 1 + self.roll(4);
        (0..count)
            .map(|_| {
                format!(
                    "{}{}",
                    self.marker(),
                    self.pick(&["", "-", " ", "T", "]]", " of "])
                )
            })
            .collect()
    }

    fn call(&mut self) -> Json {
        // Years 100 to 9999: the package takes earlier years for those of the last century.
        let millis =
            self.roll(311_000_000_000) as i64 * 1000 + self.roll(1000) as i64 - 59_000_000_000_000;
        match self.roll(6) {
            0 => json!(["formatNumber", [self.number(), self.number_picture()]]),
            1 => {
                let picture = self.pick(&[
                    "0", "000", "#,##0", "0;o", "#,##0;o", "w", "W", "Ww", "w;o", "Ww;o", "I", "i",
                    "A", "a", "#.##0", "٠", "###０", "α", "0０", "x", "",
                ]);
                let number = match picture {
                    "I" | "i" => self.roll(5000) as f64,
                    _ => self.number() * self.pick(&[1.0, 1.0, 1000.0, 1e6]),
                };
                json!(["formatInteger", [number, picture]])
            }
            2 => json!(["formatBase", [self.number(), self.roll(38)]]),
            3 => json!([
                "fromMillis",
                [
                    millis,
                    self.date_picture(),
                    self.pick(&["0000", "+0530", "-0800", "+1400"])
                ]
            ]),
            4 => {
                let picture = self.pick(&["w", "Ww;o", "#,##0", "0;o", "A", "a", "I"]);
                let number = self.roll(1_000_000) as f64;
                let number = if picture == "I" {
                    number % 5000.0
                } else {
                    number
                };
                json!([
                    "parseInteger",
                    [format_integer(number, picture).unwrap(), picture]
                ])
            }
            _ => {
                let picture = self.pick(&[
                    "[Y]-[M01]-[D01]",
                    "[D1o] [MNn] [Y]",
                    "[FNn], [D] [MNn,3-3] [Y] [h]:[m] [P]",
                    "[Y0001][M01][D01][H01][m01][s01]",
                    "[Dwo] of [MNn], [Yw]",
                    "[Y]-[d]",
                    "[YI] [Mi] [Da]",
                    "[Y]-[M]-[D]T[H]:[m]:[s].[f001][Z]",
                    "[X]-[W]-[F1]",
                    "[Y]-[D]",
                    "[D]/[M]/[Y] [H01][m01] [z]",
                    "[Y]-[M]-[D] [m]",
                ]);
                let text = from_millis(millis, Some(picture), None).unwrap();
                let other = if picture.ends_with("[P]") {
                    ""
                } else {
                    self.pick(&["", "", "x"])
                };
                json!(["toMillis", [format!("{text}{other}"), picture]])
            }
        }
    }
}

/// Where npm packages are installed for tests, if they are. In CI they must be.
fn package() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")),
        PathBuf::from,
    );
    let path = target.join("tools/node_modules/jsonata");
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

#[test]
fn generated_calls_agree_with_jsonata() {
    let Some(package) = package() else {
        return;
    };
    let mut dice = CallGenerator(7);
    let calls: Vec<Json> = (0..CALLS).map(|_| dice.call()).collect();
    let lines: Vec<String> = calls.iter().map(Json::to_string).collect();
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
        .write_all(lines.join("\n").as_bytes())
        .unwrap();
    let output = node.wait_with_output().unwrap();
    let answers: Vec<Json> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), CALLS);
    let mut wrong = Vec::new();
    for (call, theirs) in calls.iter().zip(answers) {
        let arguments: Vec<Value> = serde_json::from_value(call[1].clone()).unwrap();
        let ours = run(call[0].as_str().unwrap(), &arguments).unwrap();
        let same = match &ours {
            Ok(value) => {
                let theirs = theirs
                    .get("value")
                    .map(|value| serde_json::from_value(value.clone()).unwrap());
                theirs == Some(value.clone().unwrap_or_default())
            }
            Err(error) => theirs.get("code").and_then(Json::as_str) == Some(error.code),
        };
        if !same {
            wrong.push(format!("{call}\n  ours {ours:?}\n  theirs {theirs}"));
        }
    }
    println!("{} of {CALLS} calls agree", CALLS - wrong.len());
    assert!(
        wrong.is_empty(),
        "{} differ, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
