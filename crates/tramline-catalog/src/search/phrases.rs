//! A shallow reading of requests and descriptions: actions with their objects, negations, directions and values.
//!
//! The reading needs no grammar. An action is a verb where a verb can begin a clause; its object is what follows up to
//! the next preposition.

use super::lexicon::{Group, Lexicon, WordList};
use super::tokenize::{stemmed_words, text_prefix};

/// Most words of a text that are read. Longer texts are pages; what they say further on covers nothing.
const TOKENS_MAX: usize = 400;
/// How far the second word of a verb can be from the first, in words: `turn the light in the kitchen off`.
const PARTICLE_DISTANCE_MAX: usize = 7;

/// Where a thing is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    From,
    To,
}

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Something is to be done.
    Order,
    /// A fact is asked for: what, which, how many.
    Question,
    /// It is asked whether something is the case, or when, where, who, how and why.
    OtherQuestion,
}

/// A word of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Token {
    /// As written, in lower case.
    pub(super) word: String,
    /// The stem, or the stems of words that are read as one.
    pub(super) key: String,
    /// The stems of the parts of a compound.
    pub(super) parts: Vec<String>,
    /// Whether it begins with a capital inside a sentence.
    pub(super) is_name: bool,
    /// Whether it is data: a number, an address, a file name.
    pub(super) is_value: bool,
    /// Whether it is inside quotation marks.
    pub(super) is_quoted: bool,
    /// Whether punctuation separates it from the word before.
    is_clause_start: bool,
    /// Whether it is the further part of a hyphenated word.
    pub(super) is_continued: bool,
    pub(super) is_light: bool,
    pub(super) is_negator: bool,
    /// Whether a negation applies to it.
    pub(super) is_negated: bool,
    pub(super) direction: Option<Direction>,
    /// The preposition that introduces it.
    pub(super) preposition: Option<String>,
}

/// A verb with its object.
#[derive(Clone, Debug, Default)]
pub(super) struct Action {
    /// Its index in the tokens.
    pub(super) at: usize,
    pub(super) groups: Vec<Group>,
    /// The index of the main word of its object.
    pub(super) head: Option<usize>,
    /// Whether it is the name of a thing.
    is_thing: bool,
    /// Actions that its object names: `make a backup`.
    pub(super) named: Vec<usize>,
}

/// A text that was read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) tokens: Vec<Token>,
    pub(super) actions: Vec<Action>,
    pub(super) mood: Mood,
    /// The question word, if it must be answered by a word of the candidate.
    pub(super) question: Option<String>,
    pub(super) has_negator: bool,
    /// Whether the text only names a thing: `nightly backup of the database`.
    pub(super) is_thing: bool,
}

impl Reading {
    /// Reads a request or a description.
    pub(super) fn new(text: &str) -> Self {
        let lexicon = Lexicon::get();
        let is_asked = text.trim_end().ends_with('?');
        let mut tokens = join_phrases(lexicon, tokens(lexicon, text_prefix(text)));
        let (opened, mood, question) = mood(lexicon, &mut tokens, is_asked);
        let actions = match mood {
            Mood::Order => actions(lexicon, &mut tokens, opened),
            Mood::Question | Mood::OtherQuestion => Vec::new(),
        };
        let is_thing = actions.iter().any(|action| action.is_thing);
        let is_transfer = actions.iter().all(|action| {
            action.is_thing || lexicon.has(WordList::TransferVerbs, &tokens[action.at].key)
        });
        mark(lexicon, &mut tokens, &actions);
        if is_transfer {
            mark_sources(&mut tokens);
        }
        Self {
            has_negator: tokens.iter().any(|token| token.is_negator),
            tokens,
            actions,
            mood,
            question,
            is_thing,
        }
    }

    /// The content words with their indexes.
    pub(super) fn content(&self) -> impl Iterator<Item = (usize, &Token)> {
        let all = self.tokens.iter().enumerate();
        all.filter(|(_, token)| !token.is_light && !token.is_negator)
    }
}

/// The words of a text before phrases are joined.
fn tokens(lexicon: &Lexicon, text: &str) -> Vec<Token> {
    let mut all = Vec::new();
    let (mut is_quoted, mut is_clause_start, mut is_sentence_start) = (false, true, true);
    for chunk in text.split_whitespace() {
        if all.len() >= TOKENS_MAX {
            break;
        }
        let opens = chunk.starts_with(['"', '“', '`', '\'', '‘', '«']);
        let closes = chunk
            .trim_end_matches([',', '.', '!', '?', ';', ':', ')'])
            .ends_with(['"', '”', '`', '\'', '’', '»']);
        is_quoted |= opens;
        let ends = chunk.ends_with([',', '.', '!', '?', ';', ':']);
        let ends_sentence = chunk.ends_with(['.', '!', '?', ':']);
        let bare = chunk.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '@');
        if bare.is_empty() {
            is_clause_start = true;
        } else {
            let from = all.len();
            push_chunk(lexicon, bare, &mut all);
            for token in &mut all[from..] {
                token.is_quoted = is_quoted;
                token.is_name &= !is_sentence_start;
            }
            if let Some(first) = all.get_mut(from) {
                first.is_clause_start = is_clause_start || chunk.starts_with('(');
            }
            is_clause_start = ends;
            is_sentence_start = ends_sentence;
        }
        is_quoted &= !closes;
    }
    all
}

/// Splits a chunk without spaces: `check-in`, `readFile`, `and/or`.
fn push_chunk(lexicon: &Lexicon, chunk: &str, all: &mut Vec<Token>) {
    let is_name = chunk.starts_with(char::is_uppercase);
    let lower: String = chunk.to_lowercase().replace(['\'', '’'], "'");
    let lower = lower.strip_suffix("'s").unwrap_or(&lower).replace('\'', "");
    if !chunk.is_ascii() && chunk.chars().any(|c| c as u32 >= 0x0e00) {
        for pair in stemmed_words(chunk) {
            all.push(Token {
                word: pair.clone(),
                key: pair,
                ..Token::default()
            });
        }
        return;
    }
    let key = lexicon.stem(&lower);
    let is_known = |key: &str| {
        lexicon.has(WordList::Systems, key)
            || !lexicon.word(key).is_empty()
            || !lexicon.kinds(key).is_empty()
    };
    let has_digit = lower.contains(|c: char| c.is_ascii_digit());
    let looks_like_data = lower.contains(['@', '#', '\\'])
        || lower.contains("://")
        || has_digit
        || lower.trim_end_matches('.').contains('.')
        || chunk.starts_with('/');
    if looks_like_data && !is_known(&key) {
        // `data-1` is one value, and `contacts.csv` also says that it is a CSV file.
        let parts = lower.split(|c: char| !c.is_alphanumeric());
        let parts = parts
            .filter(|part| !part.is_empty())
            .map(|part| lexicon.stem(part));
        let parts: Vec<String> = parts.collect();
        all.push(Token {
            word: lower,
            key,
            parts: if parts.len() > 1 { parts } else { Vec::new() },
            is_value: true,
            ..Token::default()
        });
        return;
    }
    let pieces: Vec<&str> = chunk
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|piece| !piece.is_empty())
        .collect();
    if pieces.len() > 1 {
        for (at, piece) in pieces.into_iter().enumerate() {
            let from = all.len();
            push_chunk(lexicon, piece, all);
            if let Some(first) = all.get_mut(from) {
                first.is_continued = at > 0;
            }
        }
        return;
    }
    let parts = camel_parts(chunk);
    all.push(Token {
        word: lower,
        key,
        parts: parts.iter().map(|part| lexicon.stem(part)).collect(),
        is_name,
        ..Token::default()
    });
}

/// The parts of `readFile`; empty for a plain word.
fn camel_parts(chunk: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in chunk.chars() {
        match parts.last_mut() {
            Some(part) if !(was_lower && c.is_uppercase()) => part.extend(c.to_lowercase()),
            _ => parts.push(c.to_lowercase().collect()),
        }
        was_lower = c.is_lowercase();
    }
    if parts.len() > 1 { parts } else { Vec::new() }
}

/// Joins words that are read as one, such as `pull request`.
fn join_phrases(lexicon: &Lexicon, tokens: Vec<Token>) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let ahead = tokens[at..].iter().enumerate().take(5);
        let ahead = ahead.take_while(|(n, token)| *n == 0 || !token.is_clause_start);
        let stems: Vec<&str> = ahead.map(|(_, token)| token.key.as_str()).collect();
        let length = lexicon.phrase_length(&stems).max(1);
        let mut token = tokens[at].clone();
        if length > 1 {
            let all = &tokens[at..at + length];
            let words: Vec<&str> = all.iter().map(|token| token.word.as_str()).collect();
            token.word = words.join(" ");
            token.key = stems[..length].join(" ");
            token.parts = all.iter().map(|token| token.key.clone()).collect();
        }
        joined.push(token);
        at += length;
    }
    joined
}

/// What the text wants, after phrases such as `could you` were skipped.
fn mood(lexicon: &Lexicon, tokens: &mut [Token], is_asked: bool) -> (usize, Mood, Option<String>) {
    let mut opened = 0;
    loop {
        let words: Vec<&str> = tokens[opened..]
            .iter()
            .take(6)
            .map(|token| token.word.as_str())
            .collect();
        match lexicon.opening_length(&words) {
            0 => break,
            length => opened += length,
        }
    }
    opened = opened.min(tokens.len());
    for token in &mut tokens[..opened] {
        token.is_light = true;
    }
    let words: Vec<String> = tokens[opened..]
        .iter()
        .take(2)
        .map(|token| token.word.clone())
        .collect();
    let first = words.first().map_or("", String::as_str);
    let two = words.join(" ");
    let has = |list| lexicon.has(list, first) || lexicon.has(list, &two);
    let (mood, question) = if has(WordList::ReadQuestions) {
        (Mood::Question, None)
    } else if let Some(word) = [two.as_str(), first]
        .into_iter()
        .find(|word| lexicon.attributes(word).is_some())
    {
        (Mood::OtherQuestion, Some(word.to_owned()))
    } else if first == "how" {
        (Mood::OtherQuestion, Some(first.to_owned()))
    } else if has(WordList::YesOrNo) || (is_asked && opened == 0) {
        (Mood::OtherQuestion, None)
    } else {
        (Mood::Order, None)
    };
    if mood != Mood::Order
        && let Some(token) = tokens.get_mut(opened)
        && (question.is_some() || has_question_word(lexicon, token))
    {
        token.is_light = true;
    }
    (opened, mood, question)
}

fn has_question_word(lexicon: &Lexicon, token: &Token) -> bool {
    lexicon.has(WordList::ReadQuestions, &token.word) || lexicon.has(WordList::YesOrNo, &token.word)
}

/// Finds the actions of a text.
fn actions(lexicon: &Lexicon, tokens: &mut [Token], opened: usize) -> Vec<Action> {
    let mut found: Vec<Action> = Vec::new();
    let mut at = opened;
    while at < tokens.len() {
        if is_action(lexicon, tokens, at, opened) {
            let groups = join_particle(lexicon, tokens, at);
            let (head, named) = object(lexicon, tokens, at);
            let head = head.or_else(|| found.last().and_then(|last| last.head));
            let is_light = lexicon.has(WordList::LightVerbs, &tokens[at].key);
            found.push(Action {
                at,
                groups,
                head,
                named: if is_light { named } else { Vec::new() },
                is_thing: false,
            });
        }
        at += 1;
    }
    if found.is_empty() {
        // A thing, such as `nightly backup of the database`: the main word of the first phrase may be an action.
        let phrase = tokens.iter().enumerate().skip(opened);
        let phrase =
            phrase.take_while(|(_, token)| !lexicon.has(WordList::Prepositions, &token.word));
        let verbs = phrase.filter(|(_, token)| {
            lexicon.is_verb(&token.key) && !token.is_value && !is_participle(lexicon, token)
        });
        found.extend(verbs.last().map(|(at, token)| Action {
            at,
            groups: lexicon.verb(&token.key).to_vec(),
            is_thing: true,
            ..Action::default()
        }));
    }
    found
}

/// Whether the word is a verb where a verb can begin a clause.
fn is_action(lexicon: &Lexicon, tokens: &[Token], at: usize, opened: usize) -> bool {
    let token = &tokens[at];
    let next = tokens.get(at + 1).filter(|next| !next.is_clause_start);
    let is_verb = lexicon.is_verb(&token.key) || particle(lexicon, tokens, at).is_some();
    if !is_verb || token.is_value || token.is_quoted {
        return false;
    }
    if at == opened {
        return !is_participle(lexicon, token)
            || next.is_some_and(|next| is_determiner(lexicon, next));
    }
    let before = tokens[at - 1].word.as_str();
    let is_passive = ["be", "is", "are", "been", "being", "get", "gets"].contains(&before);
    if is_participle(lexicon, token) {
        return is_passive;
    }
    let joins = ["and", "then", "or", "but", "also"].contains(&before);
    let negates = [
        "not", "dont", "never", "without", "doesnt", "cannot", "avoid",
    ]
    .contains(&before);
    let begins_clause = (joins || token.is_clause_start)
        && next.is_some_and(|next| {
            !lexicon.has(WordList::Prepositions, &next.word)
                && next.word != "and"
                && next.word != "or"
                || lexicon.particles(&token.key).contains(&next.key)
        });
    let is_infinitive = before == "to" && next.is_some_and(|next| is_determiner(lexicon, next));
    begins_clause || negates || is_infinitive
}

fn is_determiner(lexicon: &Lexicon, token: &Token) -> bool {
    lexicon.has(WordList::Determiners, &token.word)
}

fn is_participle(lexicon: &Lexicon, token: &Token) -> bool {
    token.word.ends_with("ed") && token.word.len() > 4 || lexicon.is_irregular(&token.word)
}

/// The second words of a verb, and where they are; they may come later: `turn the light off`.
fn particle<'a>(lexicon: &'a Lexicon, tokens: &[Token], at: usize) -> Option<(usize, &'a str)> {
    let particles = lexicon.particles(&tokens[at].key);
    if particles.is_empty() {
        return None;
    }
    let ends_phrase = |next: usize| {
        tokens.get(next + 1).is_none_or(|after| {
            after.is_clause_start
                || after.word == "and"
                || lexicon.has(WordList::Prepositions, &after.word)
        })
    };
    let ahead = tokens.iter().enumerate().skip(at + 1);
    let ahead = ahead.take(PARTICLE_DISTANCE_MAX);
    let mut ahead = ahead.take_while(|(_, token)| !token.is_clause_start && token.word != "and");
    ahead.find_map(|(next, token)| {
        let fits = particles.iter().filter(|particle| {
            let stems = particle.split(' ');
            let known = tokens[next..].iter().map(|token| Some(token.key.as_str()));
            let mut known = known.chain(std::iter::repeat(None));
            stems
                .into_iter()
                .all(|stem| known.next() == Some(Some(stem)))
        });
        let longest = fits.max_by_key(|particle| particle.len())?;
        let is_short = lexicon.has(WordList::Light, &token.word);
        let is_particle = next == at + 1 || !is_short || ends_phrase(next);
        is_particle.then_some((next, longest.as_str()))
    })
}

/// Joins a verb with its second words, and returns the groups of the whole.
fn join_particle(lexicon: &Lexicon, tokens: &mut [Token], at: usize) -> Vec<Group> {
    let mut groups = lexicon.verb(&tokens[at].key).to_vec();
    let Some((next, particle)) = particle(lexicon, tokens, at) else {
        return groups;
    };
    // `turn off` is not `turn`, but `put the file in the archive` is still `put`.
    if lexicon.has(WordList::Light, &tokens[next].word) {
        groups.clear();
    }
    tokens[at].key = format!("{} {particle}", tokens[at].key);
    tokens[at].parts = Vec::new();
    groups.extend(lexicon.verb(&tokens[at].key));
    let consumed = tokens
        .iter_mut()
        .skip(next)
        .take(particle.split(' ').count());
    consumed.for_each(|token| token.is_light = true);
    groups
}

/// The main word of an action's object, and the actions that the object names.
fn object(lexicon: &Lexicon, tokens: &[Token], at: usize) -> (Option<usize>, Vec<usize>) {
    let (mut head, mut named) = (None, Vec::new());
    for (next, token) in tokens.iter().enumerate().skip(at + 1) {
        let is_preposition = lexicon.has(WordList::Prepositions, &token.word);
        // A list or a number of things: the things are the object.
        let ends = token.is_clause_start
            || ["and", "or", "but", "then"].contains(&token.word.as_str())
            || (is_preposition && (head.is_some() || token.word != "of"));
        if ends && next > at + 1 {
            break;
        }
        if is_preposition || token.is_light || is_light(lexicon, token) || token.is_value {
            continue;
        }
        if lexicon.is_verb(&token.key) && !is_participle(lexicon, token) {
            named.push(next);
        }
        head = Some(next);
    }
    (head, named)
}

fn is_light(lexicon: &Lexicon, token: &Token) -> bool {
    !token.is_value && lexicon.has(WordList::Light, &token.word)
}

/// Marks light words, negations and directions.
fn mark(lexicon: &Lexicon, tokens: &mut [Token], actions: &[Action]) {
    let (mut negated, mut direction, mut preposition) = (false, None, None);
    for (at, token) in tokens.iter_mut().enumerate() {
        if token.is_clause_start || token.word == "but" {
            negated = false;
        }
        // `to` before a verb is no direction.
        let is_action = actions
            .iter()
            .any(|action| action.at == at && !action.is_thing);
        if token.is_clause_start || is_action {
            (direction, preposition) = (None, None);
        }
        token.is_light |= is_light(lexicon, token);
        token.is_negator = !token.is_quoted && lexicon.has(WordList::Negators, &token.word);
        negated |= token.is_negator;
        token.is_negated = negated;
        if lexicon.has(WordList::Prepositions, &token.word) {
            direction = match token.word.as_str() {
                "from" => Some(Direction::From),
                "to" | "into" | "onto" => Some(Direction::To),
                _ => None,
            };
            preposition = Some(token.word.clone());
        } else if token.word == "and" {
            preposition = None;
        }
        token.direction = direction;
        token.preposition.clone_from(&preposition);
    }
}

/// What is converted or moved to something else comes from where it is: `a CSV file to JSON`.
fn mark_sources(tokens: &mut [Token]) {
    let mut start = 0;
    for at in 0..tokens.len() {
        if tokens[at].is_clause_start || tokens[at].word == "and" {
            start = at;
        }
        let is_target = ["to", "into"].contains(&tokens[at].word.as_str());
        if is_target
            && tokens[start..at]
                .iter()
                .all(|token| token.preposition.is_none())
        {
            for token in &mut tokens[start..at] {
                token.direction = Some(Direction::From);
            }
        }
    }
}
