//! Tokens as models of the BERT family have them: words, cut into the longest pieces that are known.
//!
//! Read from `tokenizer.json`. Other kinds of tokenizer are refused by name: a model that is fed with
//! wrong tokens answers, and answers nonsense.

use serde_json::Value;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer words are unknown; the format's own default.
const WORD_CHARS_MAX: usize = 100;
/// Vocabularies have some thirty thousand tokens; the largest of today a quarter of a million.
const TOKENS_MAX: usize = 2_000_000;

/// A vocabulary of pieces of words.
pub(crate) struct WordPiece {
    pieces: HashMap<Box<str>, usize>,
    /// What stands before a piece that goes on with a word.
    prefix: String,
    /// The token of a word that cannot be cut into known pieces.
    pub(crate) unknown: usize,
    small_letters: bool,
    /// The tokens before and after a text.
    #[cfg_attr(
        not(feature = "minilm"),
        allow(dead_code, reason = "encoders frame texts")
    )]
    pub(crate) frame: Option<(usize, usize)>,
}

impl WordPiece {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("no tokenizer: {error}"))?;
        let model = file.get("model").unwrap_or(&Value::Null);
        let kind = model.get("type").and_then(Value::as_str).unwrap_or("none");
        if kind != "WordPiece" {
            return Err(format!(
                "a tokenizer of the kind `{kind}`; only WordPiece is read"
            ));
        }
        let vocabulary = model.get("vocab").and_then(Value::as_object);
        let vocabulary = vocabulary.ok_or("the tokenizer has no vocabulary")?;
        let mut pieces = HashMap::new();
        for (piece, token) in vocabulary {
            let token = token.as_u64().and_then(|token| usize::try_from(token).ok());
            let token = token.filter(|token| *token < TOKENS_MAX);
            let token = token.ok_or_else(|| format!("`{piece}` has no sound number"))?;
            pieces.insert(piece.as_str().into(), token);
        }
        let text = |name: &str, usual: &str| {
            let given = model.get(name).and_then(Value::as_str);
            given.unwrap_or(usual).to_owned()
        };
        let unknown = text("unk_token", "[UNK]");
        let unknown = pieces.get(unknown.as_str()).copied();
        let frame = pieces
            .get("[CLS]")
            .copied()
            .zip(pieces.get("[SEP]").copied());
        Ok(Self {
            unknown: unknown.ok_or("the vocabulary has no token for unknown words")?,
            prefix: text("continuing_subword_prefix", "##"),
            small_letters: small_letters(file.get("normalizer").unwrap_or(&Value::Null)),
            pieces,
            frame,
        })
    }

    /// How many tokens there can be.
    pub(crate) fn tokens(&self) -> usize {
        self.pieces.values().max().map_or(0, |last| last + 1)
    }

    /// The words of a text, as the vocabulary may have them.
    fn words(&self, text: &str) -> Words<impl Iterator<Item = char>> {
        let small = self.small_letters;
        let clean = text.chars().filter(|c| *c != '\u{fffd}');
        Words {
            chars: clean.flat_map(move |c| normal(c, small)),
            held: None,
        }
    }

    /// The tokens of a text, the first `most` of them.
    pub(crate) fn read(&self, text: &str, most: usize) -> Vec<usize> {
        let mut tokens = Vec::new();
        for word in self.words(text) {
            if tokens.len() >= most {
                break;
            }
            self.cut(&word, &mut tokens);
        }
        tokens.truncate(most);
        tokens
    }

    /// Cuts a word into the longest pieces, from its beginning on.
    fn cut(&self, word: &str, tokens: &mut Vec<usize>) {
        let before = tokens.len();
        let mut rest = word;
        let mut piece = String::new();
        let too_long = word.chars().count() > WORD_CHARS_MAX;
        while !rest.is_empty() && !too_long {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let found = ends.map(|end| &rest[..end]).find_map(|start| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str(&self.prefix);
                }
                piece.push_str(start);
                Some((*self.pieces.get(piece.as_str())?, start.len()))
            });
            let Some((token, length)) = found else { break };
            tokens.push(token);
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
    }
}

/// Whether a normalizer, or one inside it, makes small letters. They nearly all do.
fn small_letters(normalizer: &Value) -> bool {
    let inside = normalizer.get("normalizers").and_then(Value::as_array);
    match (normalizer.get("lowercase").and_then(Value::as_bool), inside) {
        (Some(small), _) => small,
        (None, Some(inside)) => inside.iter().all(small_letters),
        (None, None) => true,
    }
}

/// A character as the vocabulary has it: small, without accents, control characters gone.
fn normal(c: char, small: bool) -> Vec<char> {
    if matches!(c, '\t' | '\n' | '\r') {
        return vec![' '];
    }
    if c.is_control() || is_format(c) {
        return Vec::new();
    }
    if !small {
        return vec![c];
    }
    let bare = std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c));
    bare.flat_map(char::to_lowercase).collect()
}

/// Characters that are there and not seen, which say nothing.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Words between spaces, with signs and Han characters as words of their own.
struct Words<I> {
    chars: I,
    held: Option<char>,
}

impl<I: Iterator<Item = char>> Iterator for Words<I> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut word = String::new();
        loop {
            let next = self.held.take().or_else(|| self.chars.next());
            match next {
                None => return (!word.is_empty()).then_some(word),
                Some(c) if c.is_whitespace() && word.is_empty() => {}
                Some(c) if c.is_whitespace() => return Some(word),
                Some(c) if stands_alone(c) && word.is_empty() => return Some(c.to_string()),
                Some(c) if stands_alone(c) => {
                    self.held = Some(c);
                    return Some(word);
                }
                Some(c) => word.push(c),
            }
        }
    }
}

fn stands_alone(c: char) -> bool {
    let sign = c.is_ascii_punctuation()
        || matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}'
            | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5b}'..='\u{ff65}');
    let han = matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}');
    sign || han
}
