//! Why a card was found, in a few plain words.

use super::lexical::{Asked, Lexical, field};
use super::likeness::Likes;
use super::rank::{Field, Found};

/// So many words are named for each place they stand in.
const WORDS_NAMED: usize = 5;
/// What lies nearer than this is worth a word.
const NEAR_MIN: f32 = 0.3;

/// The fields by how much they say, with what they are called.
const FIELDS: [(u8, &str); 6] = [
    (field::NAME, "name"),
    (field::TITLE, "title"),
    (field::DESCRIPTION, "description"),
    (field::PARAMETERS, "parameters"),
    (field::SERVER, "server"),
    (field::WISHES, "past wishes"),
];

pub(super) fn of(
    lexical: &Lexical,
    asked: &[Asked],
    field: &Field,
    found: &Found,
    likes: &Likes,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if found.exact {
        reasons.push("says exactly this".to_owned());
    }
    let said = &lexical.sheet(found.slot).said;
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
        // A word is named once, where it says most.
        let (here, others) = left.into_iter().partition(|(_, fields)| fields & bit != 0);
        left = others;
        let here: Vec<(&str, u8)> = here;
        if !here.is_empty() {
            let words = here
                .iter()
                .take(WORDS_NAMED)
                .map(|(word, _)| format!("\"{word}\""));
            reasons.push(format!("{name}: {}", words.collect::<Vec<_>>().join(", ")));
        }
    }
    match likes.wished.len() {
        0 => {}
        1 => reasons.push("1 past wish like it".to_owned()),
        many => reasons.push(format!("{many} past wishes like it")),
    }
    if let Some(near) = field.meaning(found.slot).filter(|near| *near >= NEAR_MIN) {
        reasons.push(format!("near in meaning ({near:.2})"));
    }
    reasons
}
