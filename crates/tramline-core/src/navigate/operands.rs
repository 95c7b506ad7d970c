//! The operands of a rule, read from how it was evaluated: their values, and which are missing.

use crate::explained::Explained;
use tramline_expr::{RuleExplanation, Str, Value};

/// The names at the top of what rules see.
pub(super) const ROOTS: [&str; 7] = [
    "args", "slots", "caller", "results", "calls", "lookups", "each",
];

/// At most this many operands of a rule are recorded: a journal is no debugger.
const OPERANDS_MAX: usize = 16;
/// Larger operands are recorded by their kind, in bytes.
const OPERAND_BYTES_MAX: usize = 400;
/// The source of an operand is recorded up to this length, in characters.
const SOURCE_CHARS_MAX: usize = 160;
/// An evaluation of more parts is cut by the evaluator, so that operands could go unseen.
const PARTS_MAX: usize = 10_000;

/// What a rule was made of.
#[derive(Debug, Default)]
pub(super) struct Operands {
    pub(super) found: Vec<(Str, Value)>,
    /// Paths that lead to nothing.
    pub(super) missing: Vec<Path>,
    /// Whether there are more parts than were looked at.
    pub(super) is_cut: bool,
    parts: usize,
}

/// A path from the top of what rules see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// As it is written.
    pub(super) text: Str,
    /// One of [`ROOTS`]; empty for a path that begins at a variable.
    pub(super) root: Str,
    /// The name after it.
    pub(super) name: Option<Str>,
}

impl Path {
    /// Takes a path apart, if it begins at one of the roots.
    pub(super) fn read(text: &str) -> Option<Self> {
        let bare = text.strip_prefix("$$.").or_else(|| text.strip_prefix("$."));
        let bare = bare.unwrap_or(text);
        let root = ROOTS.into_iter().find(|root| {
            let rest = bare.strip_prefix(root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })?;
        let rest = bare[root.len()..].strip_prefix('.');
        let name = rest.map(|rest| match rest.strip_prefix('`') {
            Some(quoted) => quoted.split('`').next().unwrap_or_default(),
            None => {
                let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                rest.split(|c| !plain(c)).next().unwrap_or_default()
            }
        });
        Some(Self {
            text: cut(text),
            root: root.into(),
            name: name.filter(|it| !it.is_empty()).map(Into::into),
        })
    }
}

fn cut(text: &str) -> Str {
    match text.char_indices().nth(SOURCE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// What excuses a path that leads to nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excuse {
    None,
    /// `$count` asks how many there are: none is an answer.
    Count,
    /// `$exists` asks just that.
    Exists,
}

impl Operands {
    /// The operands of an expression.
    pub(super) fn of_expression(tree: &Explained) -> Self {
        let mut made = Self::default();
        made.expression(tree, false, Excuse::None);
        made
    }

    /// The operands of a rule: its `var`s outside of the bodies of `map`, `all` and their like,
    /// where they mean items.
    pub(super) fn of_rule(rule: &Value, told: &RuleExplanation) -> Self {
        let mut made = Self::default();
        made.rule(rule, told);
        made
    }

    fn add(&mut self, what: &str, value: Option<&Value>) {
        let what = cut(what);
        if self.found.len() < OPERANDS_MAX && !self.found.iter().any(|(it, _)| *it == what) {
            let value = value.cloned().unwrap_or_default();
            let is_small = value.to_string().len() <= OPERAND_BYTES_MAX;
            let value = if is_small { value } else { value.kind().into() };
            self.found.push((what, value));
        }
    }

    fn lacks(&mut self, path: Path) {
        if self.missing.len() < OPERANDS_MAX && !self.missing.contains(&path) {
            self.missing.push(path);
        }
    }

    fn expression(&mut self, tree: &Explained, in_path: bool, excuse: Excuse) {
        self.parts += 1;
        self.is_cut |= self.parts >= PARTS_MAX;
        let Some(path) = path_of(tree, in_path) else {
            let excuse = match &tree.what {
                what if what.starts_with("$exists(") => Excuse::Exists,
                what if what.starts_with("$count(") => Excuse::Count,
                _ => Excuse::None,
            };
            for below in &tree.below {
                self.expression(below, in_path, excuse);
            }
            return;
        };
        if !path.root.is_empty() {
            self.add(&tree.what, tree.value.as_ref());
        }
        let is_excused = match excuse {
            Excuse::Exists => true,
            Excuse::Count => is_known(tree, &path),
            Excuse::None => false,
        };
        if tree.value.is_none() && !is_excused {
            self.lacks(path);
        }
        // Filters inside it can reach the top again.
        tree.below
            .iter()
            .for_each(|it| self.expression(it, true, Excuse::None));
    }

    fn rule(&mut self, rule: &Value, told: &RuleExplanation) {
        self.parts += 1;
        self.is_cut |= self.parts >= PARTS_MAX;
        if told.operator == "var" {
            let value = told.value.as_ref().filter(|it| !it.is_null());
            let text = variable(rule, &told.path);
            match text.and_then(Path::read) {
                Some(path) => {
                    self.add(&path.text, value);
                    if value.is_none() {
                        self.lacks(path);
                    }
                }
                None if value.is_none() => self.lacks(Path {
                    text: cut(text.unwrap_or("a `var`")),
                    root: "".into(),
                    name: None,
                }),
                None => {}
            }
            if let (Some(told), Some(text)) = (&told.expression, text) {
                self.expression(&Explained::expression(text, told), true, Excuse::None);
            }
            return;
        }
        let is_list =
            ["map", "filter", "all", "some", "none", "reduce"].contains(&told.operator.as_str());
        // The list comes first; the rest is about its items.
        let below = told.children.iter();
        for child in below.take(if is_list { 1 } else { usize::MAX }) {
            self.rule(rule, child);
        }
    }
}

/// The text of the `var` at a place in a rule.
fn variable<'v>(rule: &'v Value, pointer: &str) -> Option<&'v str> {
    let mut at = rule;
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        at = match at.as_array() {
            Some(_) => at.at(key.parse().ok()?)?,
            None => at.get(&key)?,
        };
    }
    let at = at.get("var").unwrap_or(at);
    at.as_str().or_else(|| at.at(0).and_then(Value::as_str))
}

/// The path that a part of an evaluation is, if it is one. Inside another path only `$$` begins
/// at the top; everything else is about the items there.
fn path_of(tree: &Explained, in_path: bool) -> Option<Path> {
    let first = tree.below.first().map(|it| it.what.as_str());
    let head = tree.what.split(['.', '[']).next().unwrap_or_default();
    let is_whole = tree.below.is_empty();
    let is_path = first == Some(head) && tree.what.len() > head.len() || is_whole;
    if !is_path || (in_path && head != "$$") {
        return None;
    }
    if let Some(path) = Path::read(&tree.what) {
        return Some(path);
    }
    let is_variable = head.len() > 1 && head.starts_with('$') && head != "$$" && !is_whole;
    is_variable.then(|| Path {
        text: cut(&tree.what),
        root: "".into(),
        name: None,
    })
}

/// Whether the thing that is counted is there, though nothing of it fits.
fn is_known(tree: &Explained, path: &Path) -> bool {
    match path.root.as_str() {
        // A conversation's calls are known: none is none.
        "calls" => true,
        _ => {
            let skip = usize::from(tree.what.starts_with("$$"));
            tree.below
                .get(1 + skip)
                .is_some_and(|it| it.value.is_some())
        }
    }
}
