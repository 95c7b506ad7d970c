//! Parses an integer picture: the kind of numeral, the number of digits, the separators.

use crate::text::TextError;
use std::collections::HashSet;

/// The zeros of the decimal digit families that a picture may use.
const ZEROS: [u32; 37] = [
    0x30, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80,
    0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
    0xFF10,
];

/// The kind of numeral.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::text) enum NumeralKind {
    Decimal,
    Letters,
    Roman,
    Words,
    /// An unsupported form. It is rejected when used, as in the reference.
    Sequence(String),
}

/// How letters are cased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::text) enum LetterCase {
    Lower,
    Upper,
    Title,
}

/// A parsed picture.
#[derive(Clone, Debug)]
pub(in crate::text) struct IntegerFormat {
    pub(in crate::text) primary: NumeralKind,
    pub(in crate::text) case: LetterCase,
    pub(in crate::text) ordinal: bool,
    pub(in crate::text) zero: char,
    pub(in crate::text) mandatory_digits: usize,
    pub(in crate::text) optional_digits: usize,
    pub(in crate::text) grouping: Grouping,
}

/// The positions of separators, counted in digits from the right.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::text) enum Grouping {
    /// One separator after every group of this many digits.
    Every(usize, char),
    /// Separators at these positions, in ascending order.
    At(Vec<(usize, char)>),
}

impl IntegerFormat {
    /// Reads a picture such as `#,##0`, `Ww` or `1;o`.
    pub(in crate::text) fn read(picture: &str) -> Result<Self, TextError> {
        let (primary, modifier) = picture.rsplit_once(';').unwrap_or((picture, ""));
        Self::read_primary(primary, modifier.starts_with('o'))
    }

    /// Parses the part of a picture before its modifier.
    pub(in crate::text) fn read_primary(primary: &str, ordinal: bool) -> Result<Self, TextError> {
        let (kind, case) = match primary {
            "A" => (NumeralKind::Letters, LetterCase::Upper),
            "a" => (NumeralKind::Letters, LetterCase::Lower),
            "I" => (NumeralKind::Roman, LetterCase::Upper),
            "i" => (NumeralKind::Roman, LetterCase::Lower),
            "W" => (NumeralKind::Words, LetterCase::Upper),
            "w" => (NumeralKind::Words, LetterCase::Lower),
            "Ww" => (NumeralKind::Words, LetterCase::Title),
            _ => return Self::read_digits(primary, ordinal),
        };
        Ok(Self {
            primary: kind,
            case,
            ordinal,
            zero: '0',
            mandatory_digits: 0,
            optional_digits: 0,
            grouping: Grouping::At(Vec::new()),
        })
    }

    fn read_digits(pattern: &str, ordinal: bool) -> Result<Self, TextError> {
        let mut zero = None;
        let (mut mandatory_digits, mut optional_digits) = (0, 0);
        let mut separators = Vec::new();
        for char in pattern.chars().rev() {
            match zero_of(char) {
                Some(family) if *zero.get_or_insert(family) != family => {
                    let message = "an integer picture must use one family of decimal digits";
                    return Err(TextError::new("D3131", message));
                }
                Some(_) => mandatory_digits += 1,
                None if char == '#' => optional_digits += 1,
                None => separators.push((mandatory_digits + optional_digits, char)),
            }
        }
        let primary = match zero {
            Some(_) => NumeralKind::Decimal,
            None => NumeralKind::Sequence(pattern.to_owned()),
        };
        Ok(Self {
            primary,
            case: LetterCase::Lower,
            ordinal,
            zero: zero.unwrap_or('0'),
            mandatory_digits,
            optional_digits,
            grouping: Grouping::of(separators),
        })
    }
}

impl Grouping {
    /// Recognises separators that repeat at one distance; `separators` are in ascending order.
    pub(in crate::text) fn of(separators: Vec<(usize, char)>) -> Self {
        let Some(&(every, char)) = separators.first() else {
            return Self::At(separators);
        };
        let repeats = every > 0
            && separators
                .iter()
                .enumerate()
                .all(|(at, &(position, other))| position == every * (at + 1) && other == char);
        if repeats {
            Self::Every(every, char)
        } else {
            Self::At(separators)
        }
    }

    /// The distinct separators.
    pub(in crate::text) fn separators(&self) -> HashSet<char> {
        match self {
            Self::Every(_, separator) => HashSet::from([*separator]),
            Self::At(separators) => separators.iter().map(|(_, separator)| *separator).collect(),
        }
    }

    /// The digits with separators between them, never before the first.
    pub(in crate::text) fn apply(&self, digits: &[char]) -> String {
        let mut text = String::with_capacity(digits.len() + digits.len() / 2);
        let mut left = match self {
            Self::Every(..) => [].iter(),
            Self::At(separators) => separators.iter(),
        }
        .rev()
        .skip_while(|(position, _)| *position >= digits.len().max(1))
        .peekable();
        for (at, digit) in digits.iter().enumerate() {
            text.push(*digit);
            let after = digits.len() - at - 1;
            if let Self::Every(every, separator) = self
                && after > 0
                && after.is_multiple_of(*every)
            {
                text.push(*separator);
            }
            while let Some((_, separator)) = left.next_if(|(position, _)| *position == after) {
                text.push(*separator);
            }
        }
        text
    }
}

/// The zero of the family that a decimal digit belongs to.
fn zero_of(char: char) -> Option<char> {
    let code = char as u32;
    if code < 0x80 {
        return char.is_ascii_digit().then_some('0');
    }
    let family = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    (code - ZEROS[family] <= 9)
        .then(|| char::from_u32(ZEROS[family]))
        .flatten()
}

/// The value of a decimal digit of the family that starts at `zero`.
pub(in crate::text) fn digit_of(char: char, zero: char) -> Option<u32> {
    (char as u32)
        .checked_sub(zero as u32)
        .filter(|digit| *digit <= 9)
}
