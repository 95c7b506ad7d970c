//! The WordPiece tokenizer of the BERT family: cuts words into the longest known pieces.
//!
//! Parsed from `tokenizer.json`. Other kinds of tokenizers are rejected by name: a model that is fed the wrong tokens
//! still answers, but with nonsense.

use serde_json::Value;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest known word, in characters; the format's own default.
const WORD_CHARS_MAX: usize = 100;
/// Most tokens in a vocabulary. Usual ones have thirty thousand, the largest a quarter of a million.
const TOKENS_MAX: usize = 2_000_000;

/// A vocabulary of word pieces.
pub(crate) struct WordPiece {
    pieces: HashMap<Box<str>, usize>,
    /// The prefix of a piece that continues a word.
    prefix: String,
    /// The token of a word that cannot be cut into known pieces.
    pub(crate) unknown: usize,
    lowercase: bool,
    /// The tokens before and after a text.
    #[cfg_attr(
        not(feature = "minilm"),
        allow(dead_code, reason = "only encoders frame texts")
    )]
    pub(crate) cls_sep: Option<(usize, usize)>,
}

impl WordPiece {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("not a tokenizer: {error}"))?;
        let model = file.get("model").unwrap_or(&Value::Null);
        let kind = model.get("type").and_then(Value::as_str).unwrap_or("none");
        if kind != "WordPiece" {
            return Err(format!(
                "a tokenizer of the kind `{kind}`; only WordPiece is supported"
            ));
        }
        let vocabulary = model.get("vocab").and_then(Value::as_object);
        let vocabulary = vocabulary.ok_or("the tokenizer has no vocabulary")?;
        let mut pieces = HashMap::new();
        for (piece, token) in vocabulary {
            let token = token.as_u64().and_then(|token| usize::try_from(token).ok());
            let token = token.filter(|token| *token < TOKENS_MAX);
            let token = token.ok_or_else(|| format!("`{piece}` has no valid token number"))?;
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
            lowercase: is_lowercasing(file.get("normalizer").unwrap_or(&Value::Null)),
            pieces,
            cls_sep: frame,
        })
    }

    /// The number of token ids.
    pub(crate) fn token_count(&self) -> usize {
        self.pieces.values().max().map_or(0, |last| last + 1)
    }

    /// The normalized words of a text.
    fn words(&self, text: &str) -> WordSplitter<impl Iterator<Item = char>> {
        let small = self.lowercase;
        let clean = text.chars().filter(|c| *c != '\u{fffd}');
        WordSplitter {
            chars: clean.flat_map(move |c| normalize(c, small)),
            pending: None,
        }
    }

    /// The tokens of a text, at most `most`.
    pub(crate) fn tokenize(&self, text: &str, most: usize) -> Vec<usize> {
        let mut tokens = Vec::new();
        for word in self.words(text) {
            if tokens.len() >= most {
                break;
            }
            self.split_word(&word, &mut tokens);
        }
        tokens.truncate(most);
        tokens
    }

    /// Cuts a word into the longest pieces, from its beginning.
    fn split_word(&self, word: &str, tokens: &mut Vec<usize>) {
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

/// Whether a normalizer, or one inside it, converts to lower case. Nearly all do.
fn is_lowercasing(normalizer: &Value) -> bool {
    let inside = normalizer.get("normalizers").and_then(Value::as_array);
    match (normalizer.get("lowercase").and_then(Value::as_bool), inside) {
        (Some(small), _) => small,
        (None, Some(inside)) => inside.iter().all(is_lowercasing),
        (None, None) => true,
    }
}

/// A normalized character: lower case, without accents; control characters are removed.
fn normalize(c: char, small: bool) -> Vec<char> {
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

/// Invisible format characters.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Splits at spaces, with punctuation and Han characters as separate words.
struct WordSplitter<I> {
    chars: I,
    pending: Option<char>,
}

impl<I: Iterator<Item = char>> Iterator for WordSplitter<I> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut word = String::new();
        loop {
            let next = self.pending.take().or_else(|| self.chars.next());
            match next {
                None => return (!word.is_empty()).then_some(word),
                Some(c) if c.is_whitespace() && word.is_empty() => {}
                Some(c) if c.is_whitespace() => return Some(word),
                Some(c) if is_separate(c) && word.is_empty() => return Some(c.to_string()),
                Some(c) if is_separate(c) => {
                    self.pending = Some(c);
                    return Some(word);
                }
                Some(c) => word.push(c),
            }
        }
    }
}

fn is_separate(c: char) -> bool {
    let sign = c.is_ascii_punctuation()
        || matches!(c, '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}'
            | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5b}'..='\u{ff65}');
    let han = matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}');
    sign || han
}
