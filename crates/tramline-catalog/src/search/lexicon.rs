//! The word lists in `lexicon/`: which words mean the same, which the opposite, and which say nothing.
//!
//! The lists are general. They name common verbs of operations, business, files, messages, calendars and payments, not
//! the words of particular workflows.

use super::tokenize::stem;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The word lists, one group of words per line.
const TABLE: &str = concat!(
    include_str!("lexicon/verbs.txt"),
    "\n",
    include_str!("lexicon/words.txt")
);

/// The number of a group of words.
pub(super) type Group = u16;

/// A plain list of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum WordList {
    Light,
    Negators,
    Determiners,
    Prepositions,
    LightVerbs,
    ReadVerbs,
    ReadQuestions,
    YesOrNo,
    Places,
    Parties,
    Topics,
    Texts,
    Dates,
    DateWords,
    Environments,
    EnvironmentSlots,
    Systems,
    SystemSlots,
    TransferVerbs,
}

impl WordList {
    fn of_section(section: &str) -> Option<Self> {
        Some(match section {
            "light" => Self::Light,
            "negators" => Self::Negators,
            "determiners" => Self::Determiners,
            "prepositions" => Self::Prepositions,
            "light verbs" => Self::LightVerbs,
            "read verbs" => Self::ReadVerbs,
            "read questions" => Self::ReadQuestions,
            "yes or no" => Self::YesOrNo,
            "places" => Self::Places,
            "parties" => Self::Parties,
            "topics" => Self::Topics,
            "texts" => Self::Texts,
            "dates" => Self::Dates,
            "date words" => Self::DateWords,
            "environments" => Self::Environments,
            "environment slots" => Self::EnvironmentSlots,
            "systems" => Self::Systems,
            "system slots" => Self::SystemSlots,
            "transfer verbs" => Self::TransferVerbs,
            _ => return None,
        })
    }

    /// Whether words are compared as written: stems of short function words collide with other words.
    fn is_verbatim(self) -> bool {
        match self {
            Self::Light
            | Self::Negators
            | Self::Determiners
            | Self::Prepositions
            | Self::ReadQuestions
            | Self::YesOrNo
            | Self::DateWords => true,
            Self::LightVerbs
            | Self::ReadVerbs
            | Self::Places
            | Self::Parties
            | Self::Topics
            | Self::Texts
            | Self::Dates
            | Self::Environments
            | Self::EnvironmentSlots
            | Self::Systems
            | Self::SystemSlots
            | Self::TransferVerbs => false,
        }
    }
}

/// The word lists, by stem. Several words that are read as one are joined with a space.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    verbs: HashMap<String, Vec<Group>>,
    words: HashMap<String, Vec<Group>>,
    opposites: HashSet<(Group, Group)>,
    /// The general words that a special word covers.
    kinds: HashMap<String, Vec<String>>,
    /// The words in a description that answer a question word.
    attributes: HashMap<String, Vec<String>>,
    lists: HashMap<WordList, HashSet<String>>,
    /// Sequences of words that are read as one, by their first word.
    phrases: HashMap<String, Vec<Vec<String>>>,
    /// The second words of verbs of several words, by the first word.
    particles: HashMap<String, Vec<String>>,
    /// Phrases with which a request opens, as written.
    openings: HashMap<String, Vec<Vec<String>>>,
    irregular: HashMap<&'static str, &'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::parse(TABLE));

impl Lexicon {
    /// The lexicon of the program.
    pub(super) fn get() -> &'static Self {
        &LEXICON
    }

    fn parse(table: &'static str) -> Self {
        let mut lexicon = Self {
            irregular: irregular_forms(table),
            ..Self::default()
        };
        let mut section = "";
        let mut next: Group = 0;
        let mut opposite_names = Vec::new();
        let mut named: HashMap<String, Vec<Group>> = HashMap::new();
        for line in table.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                continue;
            }
            match section {
                "verbs" | "words" => {
                    let (same, opposite) = line.split_once("<>").unwrap_or((line, ""));
                    let is_verb = section == "verbs";
                    for (at, word) in items(same).enumerate() {
                        let key = lexicon.add(word, is_verb, next);
                        if at == 0 {
                            named.entry(key).or_default().push(next);
                        }
                    }
                    opposite_names.extend(items(opposite).map(|word| (next, word)));
                    next += 1;
                }
                "kinds" | "attributes" => {
                    let (special, general) = line.split_once(':').unwrap_or((line, ""));
                    let general = items(general).map(|word| lexicon.key(word)).collect();
                    match section {
                        "kinds" => {
                            let key = lexicon.add_phrase(special);
                            lexicon.kinds.insert(key, general);
                        }
                        _ => {
                            let _ = lexicon.attributes.insert(special.to_owned(), general);
                        }
                    }
                }
                "openings" => {
                    for phrase in items(line) {
                        let words: Vec<String> =
                            phrase.split_whitespace().map(str::to_owned).collect();
                        if let Some(first) = words.first() {
                            let known = lexicon.openings.entry(first.clone()).or_default();
                            known.push(words);
                        }
                    }
                }
                _ => {
                    if let Some(list) = WordList::of_section(section) {
                        let keys: Vec<String> = items(line)
                            .map(|word| match list.is_verbatim() {
                                true => word.to_owned(),
                                false => lexicon.key(word),
                            })
                            .collect();
                        lexicon.lists.entry(list).or_default().extend(keys);
                    }
                }
            }
        }
        for (group, name) in opposite_names {
            let key = lexicon.key(name);
            // A name that begins no group is a word of other groups.
            let groups = named.get(&key).cloned().unwrap_or_else(|| {
                let groups = [lexicon.verb(&key), lexicon.word(&key)];
                groups.concat()
            });
            for other in groups {
                lexicon.opposites.insert((group, other));
                lexicon.opposites.insert((other, group));
            }
        }
        // The longest phrase is read first.
        for known in lexicon.phrases.values_mut() {
            known.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
            known.dedup();
        }
        for known in lexicon.openings.values_mut() {
            known.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        }
        lexicon
    }

    fn add(&mut self, word: &str, is_verb: bool, group: Group) -> String {
        let key = match is_verb {
            true => {
                let key = self.key(word);
                let stems: Vec<String> = key.split(' ').map(str::to_owned).collect();
                if let [first, rest @ ..] = stems.as_slice()
                    && !rest.is_empty()
                {
                    let known = self.particles.entry(first.clone()).or_default();
                    let rest = rest.join(" ");
                    if !known.contains(&rest) {
                        known.push(rest);
                    }
                }
                key
            }
            false => self.add_phrase(word),
        };
        let groups = if is_verb {
            &mut self.verbs
        } else {
            &mut self.words
        };
        let groups = groups.entry(key.clone()).or_default();
        if !groups.contains(&group) {
            groups.push(group);
        }
        key
    }

    fn add_phrase(&mut self, word: &str) -> String {
        let key = self.key(word);
        let stems: Vec<String> = key.split(' ').map(str::to_owned).collect();
        if stems.len() > 1 {
            let known = self.phrases.entry(stems[0].clone()).or_default();
            known.push(stems);
        }
        key
    }

    /// The stems of a word or phrase.
    fn key(&self, text: &str) -> String {
        let stems = text
            .split([' ', '-'])
            .filter(|word| !word.is_empty())
            .map(|word| self.stem(word));
        stems.collect::<Vec<_>>().join(" ")
    }

    /// The stem of a word in lower case, also of irregular forms.
    pub(super) fn stem(&self, word: &str) -> String {
        let word = self.irregular.get(word).copied().unwrap_or(word);
        // The plural of an abbreviation, which the stemmer does not know: `PRs`, `VMs`.
        match word.strip_suffix('s') {
            Some(one) if one.len() > 1 && !one.contains(['a', 'e', 'i', 'o', 'u', 'y', 's']) => {
                one.to_owned()
            }
            _ => stem(word),
        }
    }

    /// Whether a word is an irregular past form.
    pub(super) fn is_irregular(&self, word: &str) -> bool {
        self.irregular.contains_key(word)
    }

    /// The groups of a verb.
    pub(super) fn verb(&self, stem: &str) -> &[Group] {
        self.verbs.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Whether a word can be a verb.
    pub(super) fn is_verb(&self, stem: &str) -> bool {
        self.verbs.contains_key(stem)
    }

    /// The groups of a word that is no verb.
    pub(super) fn word(&self, stem: &str) -> &[Group] {
        self.words.get(stem).map_or(&[], Vec::as_slice)
    }

    /// The general words that a special one covers.
    pub(super) fn kinds(&self, stem: &str) -> &[String] {
        self.kinds.get(stem).map_or(&[], Vec::as_slice)
    }

    /// The words that answer a question word.
    pub(super) fn attributes(&self, word: &str) -> Option<&[String]> {
        self.attributes.get(word).map(Vec::as_slice)
    }

    /// Whether one of these groups is the opposite of one of those.
    pub(super) fn are_opposite(&self, these: &[Group], those: &[Group]) -> bool {
        let pairs = |one: &Group| {
            those
                .iter()
                .any(|other| self.opposites.contains(&(*one, *other)))
        };
        !these.iter().any(|one| those.contains(one)) && these.iter().any(pairs)
    }

    /// Whether a list has a word: as written for function words, else its stem.
    pub(super) fn has(&self, list: WordList, word: &str) -> bool {
        self.lists
            .get(&list)
            .is_some_and(|list| list.contains(word))
    }

    /// How many of these stems are read as one word.
    pub(super) fn phrase_length(&self, stems: &[&str]) -> usize {
        let Some(first) = stems.first() else { return 0 };
        let fits = |phrase: &&Vec<String>| {
            phrase.len() <= stems.len() && phrase.iter().zip(stems).all(|(a, b)| a == b)
        };
        let known = self.phrases.get(*first);
        known
            .and_then(|known| known.iter().find(fits))
            .map_or(1, Vec::len)
    }

    /// The second words of verbs that begin with this word.
    pub(super) fn particles(&self, stem: &str) -> &[String] {
        self.particles.get(stem).map_or(&[], Vec::as_slice)
    }

    /// How many words open a request without saying what it is about.
    pub(super) fn opening_length(&self, words: &[&str]) -> usize {
        let Some(first) = words.first() else { return 0 };
        let fits = |phrase: &&Vec<String>| {
            phrase.len() <= words.len() && phrase.iter().zip(words).all(|(a, b)| a == b)
        };
        let known = self.openings.get(*first);
        known
            .and_then(|known| known.iter().find(fits))
            .map_or(0, Vec::len)
    }
}

fn items(line: &'static str) -> impl Iterator<Item = &'static str> {
    line.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn irregular_forms(table: &'static str) -> HashMap<&'static str, &'static str> {
    let (_, section) = table.split_once("[irregular]").unwrap_or((table, ""));
    let pairs = items_of_lines(section).filter_map(|pair| pair.split_once(':'));
    pairs
        .map(|(form, base)| (form.trim(), base.trim()))
        .collect()
}

fn items_of_lines(section: &'static str) -> impl Iterator<Item = &'static str> {
    section.lines().flat_map(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_share_no_group() {
        let lexicon = Lexicon::get();
        for (one, other) in [
            ("back up", "restor"),
            ("enabl", "disabl"),
            ("upload", "download"),
            ("open", "close"),
            ("start", "stop"),
            ("encrypt", "decrypt"),
            ("buy", "sell"),
        ] {
            let (one, other) = (lexicon.verb(one), lexicon.verb(other));
            assert!(!one.is_empty() && !other.is_empty());
            assert!(lexicon.are_opposite(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn no_group_contains_its_opposite() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let Some((same, opposite)) = line.split_once("<>") else {
                continue;
            };
            let same: Vec<&str> = same.split(',').map(str::trim).collect();
            for name in opposite.split(',').map(str::trim) {
                assert!(!same.contains(&name), "`{name}` in `{line}`");
            }
        }
    }
}
