//! The operands of a rule, taken from its evaluation: their values, and which are missing.

use tramline_expr::{RuleExplanation, Str, Value};
use tramline_workflow::explanation::ExplanationNode;

/// The top-level names that rules can use.
pub(super) const ROOTS: [&str; 7] = [
    "args", "slots", "caller", "results", "calls", "lookups", "each",
];

/// Operands recorded per rule, to keep journal events small.
const OPERANDS_MAX: usize = 16;
/// Bytes of an operand's value that are recorded; larger ones are recorded by kind, to keep journal
/// events small.
const OPERAND_BYTES_MAX: usize = 400;
/// Characters of an operand's source that are recorded, to keep journal events small.
const SOURCE_CHARS_MAX: usize = 160;
/// Parts of an evaluation; the evaluator truncates longer explanations, so operands could be
/// missed.
const PARTS_MAX: usize = 10_000;

/// The operands of a rule.
#[derive(Debug, Default)]
pub(super) struct Operands {
    pub(super) found: Vec<(Str, Value)>,
    /// Paths without a value.
    pub(super) missing: Vec<OperandPath>,
    /// Whether the evaluation has more parts than were examined.
    pub(super) is_truncated: bool,
    /// Whether a redacted value was read.
    pub(super) reads_mask: bool,
    parts: usize,
}

/// A path from the top level of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperandPath {
    /// The path as written.
    pub(super) text: Str,
    /// One of [`ROOTS`]; empty for a path that starts at a variable.
    pub(super) root: Str,
    /// The name after the root.
    pub(super) name: Option<Str>,
}

impl OperandPath {
    /// Parses a path, if it starts at one of the roots.
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
            text: truncate(text),
            root: root.into(),
            name: name.filter(|it| !it.is_empty()).map(Into::into),
        })
    }
}

fn truncate(text: &str) -> Str {
    match text.char_indices().nth(SOURCE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// What excuses a path without a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingExcuse {
    None,
    /// `$count` asks how many there are, and zero is a valid answer.
    Count,
    /// `$exists` asks whether there is a value.
    Exists,
}

impl Operands {
    /// The operands of an expression.
    pub(super) fn of_expression(tree: &ExplanationNode) -> Self {
        let mut made = Self::default();
        made.expression(tree, false, MissingExcuse::None);
        made
    }

    /// The operands of a rule: its `var`s, except in the bodies of `map`, `all` and similar
    /// operators, where they refer to items.
    pub(super) fn of_rule(rule: &Value, told: &RuleExplanation) -> Self {
        let mut made = Self::default();
        made.rule(rule, told);
        made
    }

    fn add(&mut self, what: &str, value: Option<&Value>) {
        let what = truncate(what);
        if self.found.len() < OPERANDS_MAX && !self.found.iter().any(|(it, _)| *it == what) {
            let value = value.cloned().unwrap_or_default();
            let is_small = value.to_string().len() <= OPERAND_BYTES_MAX;
            let value = if is_small { value } else { value.kind().into() };
            self.found.push((what, value));
        }
    }

    fn add_missing(&mut self, path: OperandPath) {
        if self.missing.len() < OPERANDS_MAX && !self.missing.contains(&path) {
            self.missing.push(path);
        }
    }

    fn expression(&mut self, tree: &ExplanationNode, in_path: bool, excuse: MissingExcuse) {
        self.parts += 1;
        self.is_truncated |= self.parts >= PARTS_MAX;
        let Some(path) = path_of(tree, in_path) else {
            let excuse = match &tree.what {
                what if what.starts_with("$exists(") => MissingExcuse::Exists,
                what if what.starts_with("$count(") => MissingExcuse::Count,
                _ => MissingExcuse::None,
            };
            for below in &tree.children {
                self.expression(below, in_path, excuse);
            }
            return;
        };
        if !path.root.is_empty() {
            self.add(&tree.what, tree.value.as_ref());
        }
        let is_excused = match excuse {
            MissingExcuse::Exists => true,
            MissingExcuse::Count => is_known(tree, &path),
            MissingExcuse::None => false,
        };
        if tree.value.is_none() && !is_excused {
            self.add_missing(path);
        }
        // Filters inside a path can refer to the top level again.
        tree.children
            .iter()
            .for_each(|it| self.expression(it, true, MissingExcuse::None));
    }

    fn rule(&mut self, rule: &Value, told: &RuleExplanation) {
        self.parts += 1;
        self.is_truncated |= self.parts >= PARTS_MAX;
        if told.operator == "var" {
            let value = told.value.as_ref().filter(|it| !it.is_null());
            let text = var_source(rule, &told.path);
            match text.and_then(OperandPath::read) {
                Some(path) => {
                    self.add(&path.text, value);
                    if value.is_none() {
                        self.add_missing(path);
                    }
                }
                None if value.is_none() => self.add_missing(OperandPath {
                    text: truncate(text.unwrap_or("a `var`")),
                    root: "".into(),
                    name: None,
                }),
                None => {}
            }
            if let (Some(told), Some(text)) = (&told.expression, text) {
                self.expression(
                    &ExplanationNode::expression(text, told),
                    true,
                    MissingExcuse::None,
                );
            }
            return;
        }
        let is_list =
            ["map", "filter", "all", "some", "none", "reduce"].contains(&told.operator.as_str());
        // The list comes first; the rest refers to its items.
        let below = told.children.iter();
        for child in below.take(if is_list { 1 } else { usize::MAX }) {
            self.rule(rule, child);
        }
    }
}

/// The text of the `var` at a location in a rule.
fn var_source<'v>(rule: &'v Value, pointer: &str) -> Option<&'v str> {
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

/// The path that a part of an evaluation represents, if any. Inside another path only `$$` starts
/// at the top level; everything else refers to items.
fn path_of(tree: &ExplanationNode, in_path: bool) -> Option<OperandPath> {
    let first = tree.children.first().map(|it| it.what.as_str());
    let head = tree.what.split(['.', '[']).next().unwrap_or_default();
    let is_whole = tree.children.is_empty();
    let is_path = first == Some(head) && tree.what.len() > head.len() || is_whole;
    if !is_path || (in_path && head != "$$") {
        return None;
    }
    if let Some(path) = OperandPath::read(&tree.what) {
        return Some(path);
    }
    let is_variable = head.len() > 1 && head.starts_with('$') && head != "$$" && !is_whole;
    is_variable.then(|| OperandPath {
        text: truncate(&tree.what),
        root: "".into(),
        name: None,
    })
}

/// Whether the counted list exists, although no item matches.
fn is_known(tree: &ExplanationNode, path: &OperandPath) -> bool {
    match path.root.as_str() {
        // The calls of a session are fully known, so no calls means zero.
        "calls" => true,
        _ => {
            let skip = usize::from(tree.what.starts_with("$$"));
            tree.children
                .get(1 + skip)
                .is_some_and(|it| it.value.is_some())
        }
    }
}
