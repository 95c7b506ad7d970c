//! Expressions of the official suite, damaged at random: every outcome must come in bounded time
//! and without a panic, on a 2 MiB stack.
//!
//! `TRAMLINE_MUTATIONS` sets the number (default 10,000), `TRAMLINE_SEED` the random seed.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tramline_expr::{ExprError, Expression, HostFunctions, Limits, NoHost, Value};

/// The deadline of an evaluation; taking twice as long is a failure.
const DEADLINE: Duration = Duration::from_millis(500);

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ";",
    ":",
    "$",
    "$$",
    "*",
    "**",
    "%",
    "@$v",
    "#$i",
    "^(",
    "~>",
    "..",
    "??",
    "?:",
    "?",
    ":=",
    "|",
    "/",
    "\"",
    "'",
    "`",
    "\\",
    "-",
    "+",
    "&",
    "=",
    "<",
    ">",
    "!=",
    "and ",
    "or ",
    "in ",
    "1e308",
    "1/0",
    "-1",
    "0",
    "null",
    "true",
    "function($x){",
    "$map(",
    "$reduce(",
    "$eval(",
    "$string(",
    "$pad(",
    "é",
    "😀",
    "[1..1000000]",
    "$match(",
    "/(a+)+b/",
    "$sort(",
    "$f($f)",
    "$x := ",
    "<n-:n>",
    "\u{0}",
];

/// A small pseudo-random number generator (xorshift64*).
struct Mutator(u64);

impl Mutator {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides.max(1)
    }

    fn place(&mut self, text: &str) -> usize {
        let mut at = self.roll(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

fn mutate(dice: &mut Mutator, sources: &[String]) -> String {
    let mut source = sources[dice.roll(sources.len())].clone();
    for _ in 0..1 + dice.roll(3) {
        let (a, b) = (dice.place(&source), dice.place(&source));
        let (from, to) = (a.min(b), a.max(b));
        match dice.roll(5) {
            0 => source.replace_range(from..source.floor_char_boundary(to.min(from + 12)), ""),
            1 | 2 => source.insert_str(from, PIECES[dice.roll(PIECES.len())]),
            3 => {
                let other = &sources[dice.roll(sources.len())];
                let (c, d) = (dice.place(other), dice.place(other));
                source.insert_str(from, &other[c.min(d)..c.max(d)]);
            }
            _ => {
                let piece = source[from..to].to_owned();
                source.insert_str(to, &piece);
            }
        }
        // Larger sources would only test the same thing for longer.
        source.truncate(source.floor_char_boundary(4_000));
    }
    source
}

fn sources(groups: &Path) -> Vec<String> {
    let mut sources = Vec::new();
    for group in fs::read_dir(groups).unwrap().flatten() {
        for file in fs::read_dir(group.path()).unwrap().flatten() {
            let Ok(text) = fs::read_to_string(file.path()) else {
                continue;
            };
            let Ok(case) = Value::from_json(&text) else {
                continue;
            };
            let list = match case {
                Value::Array(list) => list.to_vec(),
                only => vec![only],
            };
            let sources_of = list.iter().filter_map(|case| case.get("expr")?.as_str());
            sources.extend(sources_of.map(str::to_owned));
        }
    }
    sources.sort();
    sources
}

type CompileOutcome = Result<Result<Option<Value>, ExprError>, ExprError>;

fn timed(source: &str, input: &Value) -> (CompileOutcome, Duration) {
    let started = Instant::now();
    let limits = Limits {
        deadline: Some(started + DEADLINE),
        ..Limits::default()
    };
    let outcome = Expression::compile(source, &HostFunctions::none())
        .map(|expression| expression.evaluate(input, &NoHost, &limits));
    (outcome, started.elapsed())
}

fn run(count: usize, seed: u64, sources: &[String], input: &Value) {
    let mut dice = Mutator(seed | 1);
    let mut ends = [0usize; 3];
    let mut worst = (Duration::ZERO, String::new());
    for _ in 0..count {
        let source = mutate(&mut dice, sources);
        let (outcome, mut took) = timed(&source, input);
        // Other load on the machine only ever adds time, so a late evaluation runs once more.
        if took > DEADLINE {
            took = took.min(timed(&source, input).1);
        }
        if took > worst.0 {
            worst = (took, source.clone());
        }
        match outcome {
            Err(_) => ends[0] += 1,
            Ok(Err(_)) => ends[1] += 1,
            Ok(Ok(value)) => {
                ends[2] += 1;
                drop(value.map(|value| value.to_json()));
            }
        }
        assert!(took < DEADLINE * 2, "took {took:?}: {source}");
    }
    println!(
        "{} do not compile, {} end in an error, {} end in a value",
        ends[0], ends[1], ends[2]
    );
    let (took, source) = worst;
    let ratio = took.as_secs_f64() / DEADLINE.as_secs_f64();
    println!("the slowest took {ratio:.2} of its deadline: {source:?}");
}

#[test]
fn damaged_expressions() {
    let shared = std::env::var_os("TRAMLINE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let suite = shared.join("data/jsonata-suite");
    if !suite.is_dir() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the JSONata suite is missing"
        );
        println!("skipped: the JSONata suite is missing");
        return;
    }
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let count = number("TRAMLINE_MUTATIONS").unwrap_or(10_000) as usize;
    let seed = number("TRAMLINE_SEED").unwrap_or(1);
    let sources = sources(&suite.join("groups"));
    let input =
        Value::from_json(&fs::read_to_string(suite.join("datasets/dataset5.json")).unwrap())
            .unwrap();
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread
        .spawn(move || run(count, seed, &sources, &input))
        .unwrap()
        .join()
        .unwrap();
}
