//! Why a document was found, as short texts for people.

use super::fusion::{QueryScores, RankedDocument};
use super::lexical::{LexicalIndex, QueryTerm, field};
use super::similarity::HitSimilarity;

/// Number of matched words that are named for each field.
const NAMED_WORDS_MAX: usize = 5;
/// Lowest similarity by embedding that is mentioned.
const NEAR_MIN: f32 = 0.3;

/// The fields in order of importance, with their names.
const FIELDS: [(u8, &str); 6] = [
    (field::NAME, "name"),
    (field::TITLE, "title"),
    (field::DESCRIPTION, "description"),
    (field::PARAMETERS, "parameters"),
    (field::SERVER, "server"),
    (field::PAST_REQUESTS, "past requests"),
];

pub(super) fn hit_reasons(
    lexical: &LexicalIndex,
    asked: &[QueryTerm],
    field: &QueryScores,
    found: &RankedDocument,
    likes: &HitSimilarity,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if found.exact {
        reasons.push("exact match".to_owned());
    }
    let said = &lexical.document(found.slot).words;
    let mut left: Vec<(&str, u8)> = asked
        .iter()
        .filter_map(|one| {
            let at = said
                .binary_search_by_key(&one.term?, |said| said.term)
                .ok()?;
            Some((one.word.as_str(), said[at].fields))
        })
        .collect();
    for (bit, name) in FIELDS {
        // A word is named once, in its most important field.
        let (here, others) = left.into_iter().partition(|(_, fields)| fields & bit != 0);
        left = others;
        let here: Vec<(&str, u8)> = here;
        if !here.is_empty() {
            let words = here
                .iter()
                .take(NAMED_WORDS_MAX)
                .map(|(word, _)| format!("\"{word}\""));
            reasons.push(format!("{name}: {}", words.collect::<Vec<_>>().join(", ")));
        }
    }
    match likes.past_requests.len() {
        0 => {}
        1 => reasons.push("1 similar past request".to_owned()),
        many => reasons.push(format!("{many} similar past requests")),
    }
    if let Some(near) = field
        .similarity(found.slot)
        .filter(|near| *near >= NEAR_MIN)
    {
        reasons.push(format!("similar in meaning ({near:.2})"));
    }
    reasons
}
