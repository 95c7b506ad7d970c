//! Whether a candidate covers a request: every content word, above all the verb, its object and its direction.
//!
//! Search finds what is similar, and the opposite of a workflow is very similar to it. A candidate that leaves a word of
//! the request uncovered is never a confident hit, however similar it is.

use super::concepts::{
    Concept, WordConcepts, concept, covering_concepts, group_concepts, has_any, own_concepts,
    polarity, sorted, stem_concepts,
};
use super::document::SearchDocument;
use super::lexicon::{Group, Lexicon, WordList};
use super::phrases::{Action, Direction, Mood, Reading, Token};

/// Most uncovered words that are named as a reason.
const NAMED_WORDS_MAX: usize = 3;

/// How much of a request a candidate covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestCoverage {
    /// It was not compared.
    #[default]
    Unknown,
    /// It does the opposite, or the request excludes what it does.
    Contrary,
    /// Some words of the request are not covered.
    Partial,
    /// Every word is covered, but another candidate covers them as well.
    Shared,
    /// Every word is covered.
    Complete,
    /// Every word is covered, the action and its object are the candidate's, and no other candidate covers them.
    Distinct,
}

/// The coverage of a request by one candidate.
#[derive(Clone, Debug, Default)]
pub(super) struct CoverageCheck {
    /// The words that are not covered, as written.
    pub(super) uncovered: Vec<String>,
    pub(super) is_contrary: bool,
    /// Whether an action of the request with its object is an action of the candidate.
    pub(super) has_action: bool,
    /// The share of the candidate's name or description that the request mentions.
    pub(super) mentioned: f32,
}

impl CoverageCheck {
    pub(super) fn is_complete(&self) -> bool {
        self.uncovered.is_empty() && !self.is_contrary
    }

    /// Why the candidate is not a confident hit, as text.
    pub(super) fn reason(&self) -> Option<String> {
        if self.is_complete() {
            return None;
        }
        let words = self.uncovered.iter().take(NAMED_WORDS_MAX);
        let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        Some(match self.is_contrary {
            true if words.is_empty() => "not this: the request excludes it".to_owned(),
            true => format!("the opposite: {}", words.join(", ")),
            false => format!("not covered: {}", words.join(", ")),
        })
    }
}

/// What a candidate's parameters can take.
#[derive(Clone, Copy, Debug, Default)]
struct ParameterSlots {
    count: usize,
    /// Whether one of them takes several values.
    is_plural: bool,
    places: bool,
    parties: bool,
    topics: bool,
    texts: bool,
    dates: bool,
    environments: bool,
    systems: bool,
}

/// An action of a candidate.
#[derive(Clone, Debug)]
struct CandidateAction {
    verb: Concept,
    groups: Box<[Group]>,
    /// The main word of its object; empty if it is not known.
    head: Box<[Concept]>,
    /// Whether an object names it, as in `sends a reminder`.
    is_named: bool,
}

/// What a candidate covers.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateProfile {
    words: Box<[Concept]>,
    from: Box<[Concept]>,
    to: Box<[Concept]>,
    actions: Vec<CandidateAction>,
    has_negator: bool,
    reads: bool,
    slots: ParameterSlots,
    parameters: Box<[Concept]>,
    /// Whether its texts name a system, such as Slack; then it is not for any system.
    names_system: bool,
    names_environment: bool,
    /// The content words of the name and of the description, each with its concepts.
    texts: [Vec<Box<[Concept]>>; 2],
}

impl CandidateProfile {
    pub(super) fn new(card: &SearchDocument) -> Self {
        let mut texts: Vec<&str> = vec![&card.name, &card.description];
        texts.extend(card.title.as_deref());
        let mut profile = Self::default();
        let mut words = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            let reading = Reading::new(&spaced(text));
            profile.read(&reading, &mut words);
            if let Some(known) = profile.texts.get_mut(at) {
                *known = reading
                    .content()
                    .map(|(_, token)| own_concepts(token))
                    .collect();
            }
        }
        for token in Reading::new(&spaced(&card.server)).tokens {
            covering_concepts(&token, &mut words);
        }
        let mut parameters = Vec::new();
        for parameter in card.parameters() {
            for token in Reading::new(&spaced(parameter)).tokens {
                profile.slots.add(&token);
                covering_concepts(&token, &mut parameters);
            }
            profile.slots.count += 1;
        }
        words.extend_from_slice(&parameters);
        profile.words = sorted(words);
        profile.parameters = sorted(parameters);
        profile
    }

    /// The profile of a past request, which covers what it says.
    fn of_request(text: &str) -> Self {
        let mut profile = Self::default();
        let mut words = Vec::new();
        profile.read(&Reading::new(text), &mut words);
        profile.words = sorted(words);
        profile
    }

    fn read(&mut self, reading: &Reading, words: &mut Vec<Concept>) {
        let (mut from, mut to) = (self.from.to_vec(), self.to.to_vec());
        let lexicon = Lexicon::get();
        for token in &reading.tokens {
            self.names_system |= lexicon.has(WordList::Systems, &token.key);
            self.names_environment |= lexicon.has(WordList::Environments, &token.key);
            covering_concepts(token, words);
            match token.direction {
                Some(Direction::From) => covering_concepts(token, &mut from),
                Some(Direction::To) => covering_concepts(token, &mut to),
                None => {}
            }
        }
        (self.from, self.to) = (sorted(from), sorted(to));
        self.has_negator |= reading.has_negator;
        let is_read =
            |action: &Action| lexicon.has(WordList::ReadVerbs, &reading.tokens[action.at].key);
        // The first action says what it is for: something that deploys and then checks does not only read.
        if let Some(first) = reading.actions.first() {
            self.reads = is_read(first);
        }
        self.reads |= reading.mood == Mood::Question;
        for action in &reading.actions {
            group_concepts(&action.groups, polarity(&reading.tokens[action.at]), words);
            self.add_action(
                reading,
                action.at,
                action.groups.clone(),
                action.head,
                false,
            );
            for named in &action.named {
                let groups = lexicon.verb(&reading.tokens[*named].key).to_vec();
                group_concepts(&groups, polarity(&reading.tokens[*named]), words);
                self.add_action(reading, *named, groups, None, true);
            }
        }
    }

    fn add_action(
        &mut self,
        reading: &Reading,
        at: usize,
        groups: Vec<Group>,
        head: Option<usize>,
        is_named: bool,
    ) {
        let token = &reading.tokens[at];
        if token.is_negated {
            return;
        }
        let head = head.map_or_else(Box::default, |head| own_concepts(&reading.tokens[head]));
        self.actions.push(CandidateAction {
            verb: concept(0, &token.key),
            groups: groups.into(),
            head,
            is_named,
        });
    }

    fn has(&self, concepts: &[Concept]) -> bool {
        has_any(&self.words, concepts)
    }

    /// Whether a word of a request is covered by the texts, whole or in all its parts.
    fn covers(&self, word: &WordConcepts) -> bool {
        let has_parts = || word.parts.iter().all(|part| self.has(part));
        self.has(&word.whole) || (!word.parts.is_empty() && has_parts())
    }

    /// Whether the direction of a word is not the one it has here.
    fn reverses(&self, token: &Token, word: &WordConcepts) -> bool {
        let (same, other) = match token.direction {
            Some(Direction::From) => (&self.from, &self.to),
            Some(Direction::To) => (&self.to, &self.from),
            None => return false,
        };
        let concepts = &word.whole[..1];
        has_any(other, concepts) && !has_any(same, concepts)
    }
}

impl ParameterSlots {
    fn add(&mut self, token: &Token) {
        let lexicon = Lexicon::get();
        let has = |list| lexicon.has(list, &token.key);
        self.is_plural |= token.word.ends_with('s') && !token.word.ends_with("ss");
        self.places |= has(WordList::Places);
        self.parties |= has(WordList::Parties);
        self.topics |= has(WordList::Topics);
        self.texts |= has(WordList::Texts);
        self.dates |= has(WordList::Dates);
        self.environments |= has(WordList::EnvironmentSlots);
        self.systems |= has(WordList::SystemSlots);
    }
}

/// A request, prepared for comparison.
pub(super) struct RequestProfile {
    reading: Reading,
    /// By word.
    words: Vec<WordConcepts>,
    /// Everything the request mentions.
    mentioned: Box<[Concept]>,
}

impl RequestProfile {
    pub(super) fn new(request: &str) -> Self {
        let reading = Reading::new(&spaced(request));
        let mut mentioned = Vec::new();
        for token in &reading.tokens {
            covering_concepts(token, &mut mentioned);
        }
        for action in &reading.actions {
            group_concepts(
                &action.groups,
                polarity(&reading.tokens[action.at]),
                &mut mentioned,
            );
        }
        let mentioned = sorted(mentioned);
        Self {
            words: reading.tokens.iter().map(WordConcepts::new).collect(),
            reading,
            mentioned,
        }
    }

    /// Compares the request with a candidate and, if that is not enough, also with the most similar request that the
    /// candidate satisfied before.
    pub(super) fn check(
        &self,
        own: &CandidateProfile,
        past_request: Option<&str>,
    ) -> CoverageCheck {
        let check = self.check_with(own, None);
        match past_request {
            Some(past) if !check.is_complete() => {
                self.check_with(own, Some(&CandidateProfile::of_request(past)))
            }
            _ => check,
        }
    }

    fn check_with(&self, own: &CandidateProfile, past: Option<&CandidateProfile>) -> CoverageCheck {
        let mut check = CoverageCheck::default();
        let mut free = own.slots.count;
        let is_action = |at: usize| self.reading.actions.iter().any(|action| action.at == at);
        for (at, token) in self.reading.content() {
            if is_action(at) && !self.reading.is_thing {
                continue;
            }
            let word = &self.words[at];
            let is_covered = own.covers(word) || past.is_some_and(|past| past.covers(word));
            let is_known = is_covered && !own.reverses(token, word);
            if !is_known && !self.is_argument(own, at, token, &mut free) {
                check.uncovered.push(token.word.clone());
                check.is_contrary |=
                    own.reverses(token, word) || (token.is_negated && !own.has_negator);
            }
        }
        if !self.reading.is_thing {
            for action in &self.reading.actions {
                self.check_action(own, past, action, &mut check);
            }
        }
        let has_negator = own.has_negator || past.is_some_and(|past| past.has_negator);
        if self.reading.has_negator && !has_negator {
            let negator = self.reading.tokens.iter().find(|token| token.is_negator);
            check
                .uncovered
                .extend(negator.map(|token| token.word.clone()));
            check.is_contrary = true;
        }
        self.check_question(own, past, &mut check);
        check.uncovered.dedup();
        let shares = own.texts.iter().map(|text| self.share(text));
        check.mentioned = shares.fold(0.0, f32::max);
        check
    }

    /// The share of words that the request mentions.
    fn share(&self, text: &[Box<[Concept]>]) -> f32 {
        let mentioned = text
            .iter()
            .filter(|one| has_any(&self.mentioned, one))
            .count();
        mentioned as f32 / text.len().max(1) as f32
    }

    fn check_action(
        &self,
        own: &CandidateProfile,
        past: Option<&CandidateProfile>,
        action: &Action,
        check: &mut CoverageCheck,
    ) {
        let lexicon = Lexicon::get();
        let token = &self.reading.tokens[action.at];
        let same = |one: &CandidateAction, key: &str, groups: &[Group]| {
            // `send` alone does not mean `send a reminder`.
            let is_vague = one.is_named && lexicon.has(WordList::LightVerbs, key);
            one.verb == concept(0, key)
                || (!is_vague && groups.iter().any(|group| one.groups.contains(group)))
        };
        let is_about =
            |one: &CandidateAction| one.head.is_empty() || has_any(&self.mentioned, &one.head);
        let fits = |one: &&CandidateAction, key: &str, groups: &[Group]| {
            same(one, key, groups) && is_about(one)
        };
        let mut verbs: Vec<(&str, &[Group])> = vec![(&token.key, &action.groups)];
        for named in &action.named {
            let key = self.reading.tokens[*named].key.as_str();
            verbs.push((key, lexicon.verb(key)));
        }
        let found = verbs
            .iter()
            .find_map(|(key, groups)| own.actions.iter().find(|one| fits(one, key, groups)));
        if let Some(found) = found
            && !token.is_negated
        {
            check.has_action |= !found.head.is_empty();
            return;
        }
        let opposes = own.actions.iter().any(|one| {
            lexicon.are_opposite(&action.groups, &one.groups)
                || has_opposite_prefix(&token.key, one)
        });
        let learned = past.is_some_and(|past| {
            let fits = |(key, groups): &(&str, &[Group])| {
                past.actions.iter().any(|one| same(one, key, groups))
            };
            verbs.iter().any(fits)
        });
        if learned && !opposes && !token.is_negated {
            return;
        }
        let has_verb = own
            .actions
            .iter()
            .any(|one| same(one, &token.key, &action.groups));
        check.is_contrary |= opposes && !has_verb;
        let object = action
            .head
            .map(|head| self.reading.tokens[head].word.clone());
        check.uncovered.push(match (has_verb, object) {
            (true, Some(object)) => object,
            _ => token.word.clone(),
        });
    }

    fn check_question(
        &self,
        own: &CandidateProfile,
        past: Option<&CandidateProfile>,
        check: &mut CoverageCheck,
    ) {
        if self.reading.mood == Mood::Order {
            return;
        }
        if past.is_some_and(|past| past.reads) {
            return;
        }
        let answers = |word: &String| {
            let Some(attributes) = Lexicon::get().attributes(word) else {
                return false;
            };
            let mut concepts = Vec::new();
            attributes
                .iter()
                .for_each(|one| stem_concepts(one, 0, &mut concepts));
            own.has(&concepts)
        };
        if !own.reads || !self.reading.question.as_ref().is_none_or(answers) {
            let first = self.reading.tokens.first().map(|token| token.word.clone());
            check
                .uncovered
                .extend(self.reading.question.clone().or(first));
            return;
        }
        let heads = own.actions.iter().map(|one| &one.head);
        let mut heads = heads.filter(|head| !head.is_empty());
        check.has_action = heads
            .next()
            .is_some_and(|head| has_any(&self.mentioned, head));
    }

    /// Whether a word is an argument that a parameter of the candidate can take.
    fn is_argument(
        &self,
        own: &CandidateProfile,
        at: usize,
        token: &Token,
        free: &mut usize,
    ) -> bool {
        if *free == 0 || token.is_negated || own.reverses(token, &self.words[at]) {
            return false;
        }
        let lexicon = Lexicon::get();
        let slots = &own.slots;
        let is_system = lexicon.has(WordList::Systems, &token.key);
        let preposition = token.preposition.as_deref();
        let fits = if lexicon.has(WordList::Environments, &token.key) {
            slots.environments && !own.names_environment
        } else if lexicon.has(WordList::DateWords, &token.word) {
            slots.dates
        } else if token.is_quoted || token.is_value {
            true
        } else if is_system {
            slots.systems && !own.names_system
        } else if self.names_parameter(own, at) {
            true
        } else if token.is_name {
            match preposition {
                Some("in" | "at" | "on" | "near") => slots.places,
                Some(_) => slots.places || slots.parties || slots.topics,
                None => slots.parties,
            }
        } else {
            let is_text = self.reading.tokens[..at]
                .iter()
                .any(|token| token.word == "saying");
            (is_text && slots.texts)
                || (slots.topics
                    && matches!(
                        preposition,
                        Some("about" | "regarding" | "saying" | "named" | "called")
                    ))
        };
        // Several words can be one argument, so only values and names that stand alone use a parameter up.
        let continues = at > 0 && {
            let before = &self.reading.tokens[at - 1];
            before.is_quoted && token.is_quoted
                || before.is_name && token.is_name
                || token.is_continued
        };
        if fits && !continues && !slots.is_plural {
            *free -= 1;
        }
        fits
    }

    /// Whether the word before is the name of a parameter: `flag new-checkout`.
    fn names_parameter(&self, own: &CandidateProfile, at: usize) -> bool {
        let before = self.reading.tokens[..at].iter().rev();
        let hyphenated = self.reading.tokens[at].is_continued;
        let mut before = before.skip(usize::from(hyphenated));
        let Some(before) = before.next() else {
            return false;
        };
        let is_code = hyphenated
            || self
                .reading
                .tokens
                .get(at + 1)
                .is_some_and(|next| next.is_continued);
        let mut concepts = vec![concept(0, &before.key)];
        concepts.extend(before.parts.last().map(|part| concept(0, part)));
        (is_code || self.reading.tokens[at].is_name) && has_any(&own.parameters, &concepts)
    }
}

/// Whether one verb is the other with a prefix that reverses it: `unlock` and `lock`.
fn has_opposite_prefix(key: &str, other: &CandidateAction) -> bool {
    const PREFIXES: [&str; 5] = ["un", "dis", "de", "in", "non"];
    let bare = PREFIXES
        .iter()
        .filter_map(|prefix| key.strip_prefix(prefix));
    let longer = PREFIXES.iter().map(|prefix| format!("{prefix}{key}"));
    bare.map(|bare| bare.trim().to_owned())
        .chain(longer)
        .any(|opposite| concept(0, &opposite) == other.verb)
}

/// A name as words: `read_file` and `read-file` are `read file`, and the id `files:read` is `read with files`.
fn spaced(text: &str) -> String {
    let is_name = !text.contains(char::is_whitespace);
    if !is_name || text.contains(['@', '.', '/']) {
        return text.to_owned();
    }
    let text = match text.split_once(':') {
        Some((server, tool)) => format!("{tool} with {server}"),
        None => text.to_owned(),
    };
    text.replace(['_', '-'], " ")
}
