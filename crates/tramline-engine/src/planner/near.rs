//! Texts by the words that they share with what is said: for memories, where no index is kept.

use super::words;
use std::collections::BTreeSet;

/// The texts that share telling words with what is said, nearest first, each with how near it is.
pub fn near(said: &str, texts: &[&str], most: usize) -> Vec<(usize, f64)> {
    let wanted: BTreeSet<String> = words::all(said).into_iter().collect();
    let all: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| words::all(text).into_iter().collect())
        .collect();
    let telling = |word: &String| {
        let count = all.iter().filter(|words| words.contains(word)).count();
        (1.0 + all.len() as f64 / (1.0 + count as f64)).ln()
    };
    let weighed: Vec<_> = wanted.iter().map(|word| (word, telling(word))).collect();
    let whole: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    let score = |words: &BTreeSet<String>| {
        let hits = weighed.iter().filter(|(word, _)| words.contains(*word));
        hits.map(|(_, weight)| weight).sum::<f64>() / whole.max(f64::MIN_POSITIVE)
    };
    let mut found: Vec<_> = all.iter().map(score).enumerate().collect();
    found.retain(|(_, score)| *score > 0.0);
    // Of two that are equally near, the later one counts more.
    found.sort_by(|(at, a), (other, b)| b.total_cmp(a).then_with(|| other.cmp(at)));
    found.truncate(most);
    found
}
