//! The operators of JSON Logic by name, and suggestions for unknown names.

/// Operators whose arguments are all evaluated first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EagerOperator {
    Equal,
    Identical,
    NotEqual,
    NotIdentical,
    Not,
    Truth,
    More,
    MoreOrEqual,
    Less,
    LessOrEqual,
    Max,
    Min,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Merge,
    In,
    Cat,
    Substr,
    Log,
    Missing,
    MissingSome,
}

/// Operators that evaluate a rule once per item, with the item as the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemOperator {
    Map,
    Filter,
    All,
    None,
    Some,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    If,
    And,
    Or,
    Var,
    Reduce,
    Each(ItemOperator),
    Eager(EagerOperator),
}

const OPERATORS: [(&str, Operator); 34] = [
    ("if", Operator::If),
    ("?:", Operator::If),
    ("and", Operator::And),
    ("or", Operator::Or),
    ("var", Operator::Var),
    ("reduce", Operator::Reduce),
    ("map", Operator::Each(ItemOperator::Map)),
    ("filter", Operator::Each(ItemOperator::Filter)),
    ("all", Operator::Each(ItemOperator::All)),
    ("none", Operator::Each(ItemOperator::None)),
    ("some", Operator::Each(ItemOperator::Some)),
    ("==", Operator::Eager(EagerOperator::Equal)),
    ("===", Operator::Eager(EagerOperator::Identical)),
    ("!=", Operator::Eager(EagerOperator::NotEqual)),
    ("!==", Operator::Eager(EagerOperator::NotIdentical)),
    ("!", Operator::Eager(EagerOperator::Not)),
    ("!!", Operator::Eager(EagerOperator::Truth)),
    (">", Operator::Eager(EagerOperator::More)),
    (">=", Operator::Eager(EagerOperator::MoreOrEqual)),
    ("<", Operator::Eager(EagerOperator::Less)),
    ("<=", Operator::Eager(EagerOperator::LessOrEqual)),
    ("max", Operator::Eager(EagerOperator::Max)),
    ("min", Operator::Eager(EagerOperator::Min)),
    ("+", Operator::Eager(EagerOperator::Add)),
    ("-", Operator::Eager(EagerOperator::Subtract)),
    ("*", Operator::Eager(EagerOperator::Multiply)),
    ("/", Operator::Eager(EagerOperator::Divide)),
    ("%", Operator::Eager(EagerOperator::Modulo)),
    ("merge", Operator::Eager(EagerOperator::Merge)),
    ("in", Operator::Eager(EagerOperator::In)),
    ("cat", Operator::Eager(EagerOperator::Cat)),
    ("substr", Operator::Eager(EagerOperator::Substr)),
    ("log", Operator::Eager(EagerOperator::Log)),
    ("missing", Operator::Eager(EagerOperator::Missing)),
];

/// Common names for operators that are called differently here.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("not", "!"),
    ("eq", "=="),
    ("equals", "=="),
    ("=", "=="),
    ("ne", "!="),
    ("<>", "!="),
    ("gt", ">"),
    ("gte", ">="),
    ("lt", "<"),
    ("lte", "<="),
    ("&&", "and"),
    ("||", "or"),
    ("any", "some"),
    ("every", "all"),
    ("concat", "cat"),
    ("contains", "in"),
    ("mod", "%"),
    ("get", "var"),
];

impl Operator {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        if name == "missing_some" {
            return Some(Self::Eager(EagerOperator::MissingSome));
        }
        let found = OPERATORS.iter().find(|(known, _)| *known == name);
        found.map(|(_, operator)| *operator)
    }
}

/// Operators that `name` may have been meant to be, the likeliest first.
pub(super) fn candidates(name: &str) -> Vec<&'static str> {
    let lower = name.to_lowercase();
    if let Some((_, meant)) = OTHER_NAMES.iter().find(|(other, _)| *other == lower) {
        return vec![meant];
    }
    // One typo in a short name, two in a long one.
    let slips = if lower.chars().count() <= 3 { 1 } else { 2 };
    let names = OPERATORS.iter().map(|(known, _)| *known);
    let mut near: Vec<(usize, &str)> = names
        .chain(["missing_some"])
        .map(|known| (distance(&lower, known), known))
        .filter(|(distance, known)| *distance <= slips && *distance < known.len())
        .collect();
    near.sort();
    near.into_iter().map(|(_, known)| known).take(3).collect()
}

/// The edit distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // A name much longer than any operator is never close to one.
    if a.chars().count() > 16 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, char) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (column, other) in b.iter().enumerate() {
            let change = corner + usize::from(char != *other);
            corner = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}
