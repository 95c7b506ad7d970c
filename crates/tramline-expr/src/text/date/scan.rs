//! Matches the parts of a text with the parts of a picture, in bounded time.
//!
//! Parts are greedy and backtrack from the end, like the reference's regular expression. A part
//! that failed at some position is not tried there again, and all tries together may read
//! [`WORK_CHARS_MAX`] characters.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::integer::{WORDS, digit_of};

/// Characters that all tries together may read: some hundred times what any sensible date needs.
const WORK_CHARS_MAX: usize = 1_000_000;

/// What a part of a picture matches.
pub(super) enum PartMatcher {
    /// This text, ignoring case.
    Literal(Vec<char>),
    /// One or more ASCII letters.
    Letters,
    /// One or more Roman numerals.
    Roman,
    /// Digits of the family of `zero`, an exact number or at least one, and an ordinal suffix.
    Digits {
        zero: char,
        exactly: Option<usize>,
        ordinal: bool,
    },
    /// Number words, joined.
    Words,
    /// A time zone: a sign and digits, split at the separator if there is one.
    Zone {
        gmt: bool,
        zulu: bool,
        separator: Option<char>,
    },
}

/// Why there is no match.
#[derive(Debug, PartialEq)]
pub(super) enum ScanError {
    NoMatch,
    TooMuchWork,
}

/// The range of every pattern, in order, if together they cover all of `text`.
pub(super) fn scan(
    patterns: &[PartMatcher],
    text: &[char],
) -> Result<Vec<Range<usize>>, ScanError> {
    let mut scan = DateScanner {
        text,
        work: WORK_CHARS_MAX,
        tried: HashSet::new(),
    };
    // For every part matched so far: its start, and the ends left to try, the preferred one last.
    let mut frames: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut at = 0;
    loop {
        if frames.len() == patterns.len() && at == text.len() {
            let ends = frames.iter().skip(1).map(|(start, _)| *start);
            let starts = frames.iter().map(|(start, _)| *start);
            return Ok(starts.zip(ends.chain([at])).map(|(a, b)| a..b).collect());
        }
        let forward = match patterns.get(frames.len()) {
            Some(pattern) if scan.tried.insert((frames.len(), at)) => {
                let ends = scan.ends(pattern, at).ok_or(ScanError::TooMuchWork)?;
                frames.push((at, ends));
                true
            }
            _ => false,
        };
        if !forward && frames.is_empty() {
            return Err(ScanError::NoMatch);
        }
        // Take the preferred remaining end of the last part, or go back to the part before it.
        at = loop {
            match frames.last_mut() {
                Some((_, ends)) => match ends.pop() {
                    Some(end) => break end,
                    None => frames.pop(),
                },
                None => return Err(ScanError::NoMatch),
            };
        };
    }
}

struct DateScanner<'t> {
    text: &'t [char],
    work: usize,
    tried: HashSet<(usize, usize)>,
}

impl DateScanner<'_> {
    /// The positions where `pattern`, started at `at`, may end: the preferred one last.
    fn ends(&mut self, pattern: &PartMatcher, at: usize) -> Option<Vec<usize>> {
        let ends: Vec<usize> = match pattern {
            PartMatcher::Literal(literal) => {
                let rest = &self.text[at..];
                let same =
                    rest.len() >= literal.len() && eq_ignore_case(&rest[..literal.len()], literal);
                self.spend(literal.len())?;
                if same {
                    vec![at + literal.len()]
                } else {
                    Vec::new()
                }
            }
            PartMatcher::Letters => (at + 1..=self.run(at, |c| c.is_ascii_alphabetic())?).collect(),
            PartMatcher::Roman => (at + 1..=self.run(at, is_roman)?).collect(),
            PartMatcher::Digits {
                zero,
                exactly,
                ordinal,
            } => {
                let run = self.run(at, |char| digit_of(char, *zero).is_some())?;
                let ends = match exactly {
                    Some(count) if at + count <= run => at + count..at + count + 1,
                    Some(_) => 0..0,
                    None => at + 1..run + 1,
                };
                if *ordinal {
                    ends.filter(|end| self.is_suffix(*end))
                        .map(|end| end + 2)
                        .collect()
                } else {
                    ends.collect()
                }
            }
            PartMatcher::Words => self.words(at)?,
            PartMatcher::Zone {
                gmt,
                zulu,
                separator,
            } => self.zone(at, *gmt, *zulu, *separator)?,
        };
        self.spend(ends.len() + 1)?;
        Some(ends)
    }

    fn spend(&mut self, chars: usize) -> Option<()> {
        self.work = self.work.checked_sub(chars)?;
        Some(())
    }

    /// Where the characters from `at` on stop being of a kind.
    fn run(&mut self, at: usize, kind: impl Fn(char) -> bool) -> Option<usize> {
        let length = self.text[at..]
            .iter()
            .take_while(|char| kind(**char))
            .count();
        self.spend(length)?;
        Some(at + length)
    }

    fn is_suffix(&self, at: usize) -> bool {
        let suffix = self.text.get(at..at + 2).unwrap_or_default();
        ["th", "st", "nd", "rd"]
            .iter()
            .any(|known| eq_ignore_case(suffix, &known.chars().collect::<Vec<_>>()))
    }

    fn words(&mut self, at: usize) -> Option<Vec<usize>> {
        let tokens = WORDS.iter().map(|(word, _)| *word);
        let tokens: Vec<Vec<char>> = tokens
            .chain(["and", "-", ",", " "])
            .map(|word| word.chars().collect())
            .collect();
        let mut reached = std::collections::BTreeSet::from([at]);
        let mut next = Some(at);
        while let Some(from) = next {
            self.spend(tokens.len())?;
            let rest = &self.text[from..];
            for token in &tokens {
                if rest.len() >= token.len() && eq_ignore_case(&rest[..token.len()], token) {
                    reached.insert(from + token.len());
                }
            }
            next = reached.range(from + 1..).next().copied();
        }
        reached.remove(&at);
        Some(reached.into_iter().collect())
    }

    fn zone(
        &mut self,
        at: usize,
        gmt: bool,
        zulu: bool,
        separator: Option<char>,
    ) -> Option<Vec<usize>> {
        let mut from = at;
        if zulu
            && self
                .text
                .get(at)
                .is_some_and(|char| eq_ignore_case(&[*char], &['z']))
        {
            return Some(vec![at + 1]);
        }
        if gmt {
            if !eq_ignore_case(
                self.text.get(at..at + 3).unwrap_or_default(),
                &['g', 'm', 't'],
            ) {
                return Some(Vec::new());
            }
            from += 3;
        }
        if !matches!(self.text.get(from), Some('+' | '-')) {
            return Some(Vec::new());
        }
        let mut end = self.run(from + 1, |char| char.is_ascii_digit())?;
        let mut first = from + 2;
        if let Some(separator) = separator {
            if end == from + 1 || self.text.get(end) != Some(&separator) {
                return Some(Vec::new());
            }
            first = end + 2;
            end = self.run(end + 1, |char| char.is_ascii_digit())?;
        }
        Some((first..=end).collect())
    }
}

fn is_roman(char: char) -> bool {
    matches!(
        char.to_ascii_uppercase(),
        'M' | 'D' | 'C' | 'L' | 'X' | 'V' | 'I'
    )
}

/// Whether two texts are equal ignoring case.
fn eq_ignore_case(a: &[char], b: &[char]) -> bool {
    let same = |(a, b): (&char, &char)| a == b || a.to_lowercase().eq(b.to_lowercase());
    a.len() == b.len() && a.iter().zip(b).all(same)
}
