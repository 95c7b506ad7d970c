//! Numbers in English words, cardinal and ordinal, and back.

use super::picture::LetterCase;
use crate::text::TextError;

/// Bytes of text for one number in words: huge doubles take many words.
const WORDS_BYTES_MAX: usize = 16 * 1024;

const ONES: [&str; 20] = [
    "Zero",
    "One",
    "Two",
    "Three",
    "Four",
    "Five",
    "Six",
    "Seven",
    "Eight",
    "Nine",
    "Ten",
    "Eleven",
    "Twelve",
    "Thirteen",
    "Fourteen",
    "Fifteen",
    "Sixteen",
    "Seventeen",
    "Eighteen",
    "Nineteen",
];

const ORDINALS: [&str; 20] = [
    "Zeroth",
    "First",
    "Second",
    "Third",
    "Fourth",
    "Fifth",
    "Sixth",
    "Seventh",
    "Eighth",
    "Ninth",
    "Tenth",
    "Eleventh",
    "Twelfth",
    "Thirteenth",
    "Fourteenth",
    "Fifteenth",
    "Sixteenth",
    "Seventeenth",
    "Eighteenth",
    "Nineteenth",
];

const TENS: [&str; 10] = [
    "", "", "Twenty", "Thirty", "Forty", "Fifty", "Sixty", "Seventy", "Eighty", "Ninety",
];

/// The largest first: a number is split at the largest magnitude it reaches.
const MAGNITUDES: [(f64, &str); 4] = [
    (1e12, "Trillion"),
    (1e9, "Billion"),
    (1e6, "Million"),
    (1e3, "Thousand"),
];

/// Every word that a number may contain, in lower case, with its value.
pub(in crate::text) const WORDS: [(&str, f64); 66] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("zeroth", 0.0),
    ("first", 1.0),
    ("second", 2.0),
    ("third", 3.0),
    ("fourth", 4.0),
    ("fifth", 5.0),
    ("sixth", 6.0),
    ("seventh", 7.0),
    ("eighth", 8.0),
    ("ninth", 9.0),
    ("tenth", 10.0),
    ("eleventh", 11.0),
    ("twelfth", 12.0),
    ("thirteenth", 13.0),
    ("fourteenth", 14.0),
    ("fifteenth", 15.0),
    ("sixteenth", 16.0),
    ("seventeenth", 17.0),
    ("eighteenth", 18.0),
    ("nineteenth", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("twentieth", 20.0),
    ("thirtieth", 30.0),
    ("fortieth", 40.0),
    ("fiftieth", 50.0),
    ("sixtieth", 60.0),
    ("seventieth", 70.0),
    ("eightieth", 80.0),
    ("ninetieth", 90.0),
    ("hundred", 100.0),
    ("hundredth", 100.0),
    ("thousand", 1e3),
    ("thousandth", 1e3),
    ("million", 1e6),
    ("millionth", 1e6),
    ("billion", 1e9),
    ("billionth", 1e9),
    ("trillion", 1e12),
    ("trillionth", 1e12),
];

pub(super) fn words(size: f64, ordinal: bool, case: LetterCase) -> Result<String, TextError> {
    let mut text = String::new();
    spell(size, "", "", ordinal, &mut text);
    if text.len() > WORDS_BYTES_MAX {
        let message = "the number takes too many words to write out";
        return Err(TextError::new("D3130", message).with(size));
    }
    Ok(match case {
        LetterCase::Lower => text.to_lowercase(),
        LetterCase::Upper => text.to_uppercase(),
        LetterCase::Title => text,
    })
}

/// Appends `size` to the text; `and` joins a last part below a hundred and `comma` one from a
/// hundred on.
fn spell(size: f64, and: &str, comma: &str, ordinal: bool, text: &mut String) {
    // Stops the recursion for doubles so large that every part leaves a rounding remainder.
    if text.len() > WORDS_BYTES_MAX {
        return;
    }
    if size < 100.0 {
        text.push_str(and);
        return spell_small(size as usize, ordinal, text);
    }
    text.push_str(comma);
    let (worth, name) = MAGNITUDES
        .into_iter()
        .find(|(worth, _)| size >= *worth)
        .unwrap_or((100.0, "Hundred"));
    let count = (size / worth).floor();
    spell(count, "", "", false, text);
    text.push(' ');
    text.push_str(name);
    let rest = size - count * worth;
    if rest > 0.0 {
        spell(rest, " and ", ", ", ordinal, text);
    } else if ordinal {
        text.push_str("th");
    }
}

fn spell_small(size: usize, ordinal: bool, text: &mut String) {
    if size < 20 {
        let names = if ordinal { ORDINALS } else { ONES };
        return text.push_str(names[size]);
    }
    let ten = TENS[size / 10];
    if !size.is_multiple_of(10) {
        text.push_str(ten);
        text.push('-');
        spell_small(size % 10, ordinal, text);
    } else if ordinal {
        text.push_str(ten.trim_end_matches('y'));
        text.push_str("ieth");
    } else {
        text.push_str(ten);
    }
}

/// Reads words in any case, joined by spaces, hyphens, commas or "and".
pub(in crate::text) fn from_words(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let mut sums = vec![0.0_f64];
    for word in lower.split([' ', '-', '\t', '\n', '\r']) {
        let word = word.strip_suffix(',').unwrap_or(word);
        if word == "and" {
            continue;
        }
        let (_, worth) = WORDS.iter().find(|(known, _)| *known == word)?;
        let last = sums.pop().unwrap_or(0.0);
        if *worth >= 100.0 {
            sums.push(last * worth);
        } else if last >= 1000.0 {
            sums.extend([last, *worth]);
        } else {
            sums.push(last + worth);
        }
    }
    Some(sums.iter().sum())
}
