//! Similarity of texts by shared words, for memories, which have no index.

use super::text;
use std::collections::BTreeSet;

/// The texts that share words with `said`, most similar first, each with its score. Rare words weigh more.
pub fn similar_texts(said: &str, texts: &[&str], most: usize) -> Vec<(usize, f64)> {
    let wanted: BTreeSet<String> = text::stems(said).into_iter().collect();
    let all: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| text::stems(text).into_iter().collect())
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
    // Of two equally similar texts, the later one comes first.
    found.sort_by(|(at, a), (other, b)| b.total_cmp(a).then_with(|| other.cmp(at)));
    found.truncate(most);
    found
}
