//! The operators of JSON Logic by name, and what to suggest for a name that is none of them.

/// Operators whose arguments are evaluated first, all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eager {
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

/// Operators that evaluate a rule once for every item, with the item as the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
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
    Each(Each),
    Eager(Eager),
}

const OPERATORS: [(&str, Operator); 34] = [
    ("if", Operator::If),
    ("?:", Operator::If),
    ("and", Operator::And),
    ("or", Operator::Or),
    ("var", Operator::Var),
    ("reduce", Operator::Reduce),
    ("map", Operator::Each(Each::Map)),
    ("filter", Operator::Each(Each::Filter)),
    ("all", Operator::Each(Each::All)),
    ("none", Operator::Each(Each::None)),
    ("some", Operator::Each(Each::Some)),
    ("==", Operator::Eager(Eager::Equal)),
    ("===", Operator::Eager(Eager::Identical)),
    ("!=", Operator::Eager(Eager::NotEqual)),
    ("!==", Operator::Eager(Eager::NotIdentical)),
    ("!", Operator::Eager(Eager::Not)),
    ("!!", Operator::Eager(Eager::Truth)),
    (">", Operator::Eager(Eager::More)),
    (">=", Operator::Eager(Eager::MoreOrEqual)),
    ("<", Operator::Eager(Eager::Less)),
    ("<=", Operator::Eager(Eager::LessOrEqual)),
    ("max", Operator::Eager(Eager::Max)),
    ("min", Operator::Eager(Eager::Min)),
    ("+", Operator::Eager(Eager::Add)),
    ("-", Operator::Eager(Eager::Subtract)),
    ("*", Operator::Eager(Eager::Multiply)),
    ("/", Operator::Eager(Eager::Divide)),
    ("%", Operator::Eager(Eager::Modulo)),
    ("merge", Operator::Eager(Eager::Merge)),
    ("in", Operator::Eager(Eager::In)),
    ("cat", Operator::Eager(Eager::Cat)),
    ("substr", Operator::Eager(Eager::Substr)),
    ("log", Operator::Eager(Eager::Log)),
    ("missing", Operator::Eager(Eager::Missing)),
];

/// What people write for an operator that goes by another name here.
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
    pub(super) fn named(name: &str) -> Option<Self> {
        if name == "missing_some" {
            return Some(Self::Eager(Eager::MissingSome));
        }
        let found = OPERATORS.iter().find(|(known, _)| *known == name);
        found.map(|(_, operator)| *operator)
    }
}

/// The operators that `name` may have been meant to be, the likeliest first.
pub(super) fn candidates(name: &str) -> Vec<&'static str> {
    let lower = name.to_lowercase();
    if let Some((_, meant)) = OTHER_NAMES.iter().find(|(other, _)| *other == lower) {
        return vec![meant];
    }
    // One slip in a short name, two in a long one.
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

/// How many characters to add, drop or change to get from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // A name longer than any operator by more than the slips allowed is never near.
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
