//! Finds which stretch of a text belongs to which part of a picture, in bounded time.
//!
//! Parts take as much as they can and give back from the end, as the reference's regular expression
//! does. A part that failed at some place is not tried there again, and all tries together may look
//! at [`WORK_CHARS_MAX`] characters.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::integer::{WORDS, digit_of};

/// Some hundred times what any sensible date needs.
const WORK_CHARS_MAX: usize = 1_000_000;

/// What a part of a picture matches.
pub(super) enum Pattern {
    /// This text in any case.
    Literal(Vec<char>),
    /// One or more ASCII letters.
    Letters,
    /// One or more Roman numerals.
    Roman,
    /// Digits of the family of `zero`, exactly so many or at least one, and an ordinal's ending.
    Digits {
        zero: char,
        exactly: Option<usize>,
        ordinal: bool,
    },
    /// Number words, joined.
    Words,
    /// A time zone: a sign and digits, parted where there are separators.
    Zone {
        gmt: bool,
        zulu: bool,
        separator: Option<char>,
    },
}

/// Why there is no match.
#[derive(Debug, PartialEq)]
pub(super) enum Miss {
    Unlike,
    TooMuchWork,
}

/// The stretch of every pattern, in order, when together they are the whole of `text`.
pub(super) fn scan(patterns: &[Pattern], text: &[char]) -> Result<Vec<Range<usize>>, Miss> {
    let mut scan = Scan {
        text,
        work: WORK_CHARS_MAX,
        tried: HashSet::new(),
    };
    // For every part matched so far: where it starts, and the ends left to try, the best last.
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
                let ends = scan.ends(pattern, at).ok_or(Miss::TooMuchWork)?;
                frames.push((at, ends));
                true
            }
            _ => false,
        };
        if !forward && frames.is_empty() {
            return Err(Miss::Unlike);
        }
        // Take the best end left of the last part, or go back to the part in front of it.
        at = loop {
            match frames.last_mut() {
                Some((_, ends)) => match ends.pop() {
                    Some(end) => break end,
                    None => frames.pop(),
                },
                None => return Err(Miss::Unlike),
            };
        };
    }
}

struct Scan<'t> {
    text: &'t [char],
    work: usize,
    tried: HashSet<(usize, usize)>,
}

impl Scan<'_> {
    /// The places where `pattern`, started at `at`, may end: the preferred one last.
    fn ends(&mut self, pattern: &Pattern, at: usize) -> Option<Vec<usize>> {
        let ends: Vec<usize> = match pattern {
            Pattern::Literal(literal) => {
                let rest = &self.text[at..];
                let same = rest.len() >= literal.len() && alike(&rest[..literal.len()], literal);
                self.spend(literal.len())?;
                if same {
                    vec![at + literal.len()]
                } else {
                    Vec::new()
                }
            }
            Pattern::Letters => (at + 1..=self.run(at, |c| c.is_ascii_alphabetic())?).collect(),
            Pattern::Roman => (at + 1..=self.run(at, is_roman)?).collect(),
            Pattern::Digits {
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
            Pattern::Words => self.words(at)?,
            Pattern::Zone {
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

    /// Where the characters from `at` stop being of a kind.
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
            .any(|known| alike(suffix, &known.chars().collect::<Vec<_>>()))
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
                if rest.len() >= token.len() && alike(&rest[..token.len()], token) {
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
                .is_some_and(|char| alike(&[*char], &['z']))
        {
            return Some(vec![at + 1]);
        }
        if gmt {
            if !alike(
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

/// Whether two texts are the same but for case.
fn alike(a: &[char], b: &[char]) -> bool {
    let same = |(a, b): (&char, &char)| a == b || a.to_lowercase().eq(b.to_lowercase());
    a.len() == b.len() && a.iter().zip(b).all(same)
}
