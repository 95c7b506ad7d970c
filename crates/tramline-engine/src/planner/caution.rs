//! What speaks against running a plan that was made from words alone.
//!
//! Words are matched, not understood: "do not close the account" and "close the account" name the same
//! tool. So a plan from words runs at once only if it can change nothing and nothing in the request
//! turns its meaning around. Everything else is a suggestion.

use super::{Plan, literals};
use crate::seams::{Hints, Tool};
use std::ops::Range;
use tramline_core::ids::ToolName;

/// A plan that is less sure than this is a suggestion. Confidence is calibrated: of plans at 0.8 or
/// above, five in six were the right ones in `cargo xtask bench planner`.
pub(super) const CONFIDENCE_MIN: f64 = 0.8;

/// Words that turn a request around or take something out of it. Tokens that end in `n't` count too.
const NEGATIONS: [&str; 75] = [
    "not",
    "no",
    "never",
    "none",
    "nothing",
    "nobody",
    "nowhere",
    "neither",
    "nor",
    "without",
    "stop",
    "avoid",
    "refrain",
    "cease",
    "quit",
    "skip",
    "ignore",
    "except",
    "excluding",
    "exclude",
    "omit",
    "forbid",
    "forbidden",
    "prevent",
    "prohibit",
    "cancel",
    "abort",
    "undo",
    "instead",
    "rather",
    "otherwise",
    "hardly",
    "cannot",
    "dont",
    "doesnt",
    "didnt",
    "cant",
    "wont",
    "shouldnt",
    "mustnt",
    "isnt",
    "arent",
    "halt",
    "postpone",
    "delay",
    "pretend",
    "hypothetically",
    "simulate",
    // Requests in other languages are matched by names and values all the same.
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "nie",
    "niemals",
    "ohne",
    "pas",
    "jamais",
    "sans",
    "ne",
    "nunca",
    "jamás",
    "sin",
    "non",
    "mai",
    "senza",
    "não",
    "nunca",
    "sem",
    "niet",
    "geen",
    "не",
    "нет",
    "без",
    "никогда",
];
/// The same in two words.
const NEGATIONS_OF_TWO: [(&str, &str); 8] = [
    ("hold", "off"),
    ("leave", "alone"),
    ("let", "alone"),
    ("other", "than"),
    ("far", "from"),
    ("keep", "from"),
    ("back", "out"),
    ("opposite", "of"),
];
/// Signs of negation in scripts that do not separate words.
const NEGATION_SIGNS: [char; 8] = ['不', '别', '別', '勿', '没', '沒', '无', '無'];

/// Words that begin a question.
const ASKING: [&str; 44] = [
    "who", "whom", "whose", "what", "whats", "when", "where", "why", "how", "which", "is", "are",
    "was", "were", "am", "has", "have", "had", "does", "did", "do", "can", "could", "should",
    "would", "will", "may", "might", "shall", "must", "any", "anyone", "anybody", "wer", "wie",
    "warum", "wann", "wo", "ist", "sind", "qui", "comment", "pourquoi", "quién",
];
/// Words that make a question out of what follows, wherever they stand.
const WHETHER: [&str; 2] = ["whether", "ob"];
/// Words of politeness that may stand before the one that asks.
const POLITE: [&str; 8] = ["please", "so", "and", "then", "hey", "hi", "ok", "also"];

/// Words that make a request depend on something that is not known yet.
const CONDITIONS: [&str; 16] = [
    "if",
    "unless",
    "until",
    "till",
    "when",
    "whenever",
    "once",
    "provided",
    "assuming",
    "depending",
    "tomorrow",
    "later",
    "tonight",
    "wenn",
    "falls",
    "si",
];

/// Why a plan for these words is not run at once; nothing if it may be. `tools` are those of the plan.
pub(super) fn objections(wish: &str, plan: &Plan, tools: &[(ToolName, Hints)]) -> Vec<String> {
    let mut found = Vec::new();
    if tools.is_empty() {
        found.push("no tool was found for it".to_owned());
    }
    for (tool, _) in tools.iter().filter(|(_, hints)| !only_reads(*hints)) {
        found.push(format!("{tool} is not annotated as read-only"));
    }
    let words = Words::of(wish);
    if let Some(word) = words.negation() {
        found.push(format!("\"{word}\" may turn the request around"));
    }
    if let Some(why) = words.question() {
        found.push(why);
    }
    if let Some(word) = words.condition() {
        found.push(format!("\"{word}\" makes it depend on something else"));
    }
    for clause in &plan.unmet {
        found.push(format!("nothing in the plan answers to \"{clause}\""));
    }
    for missing in &plan.missing {
        let (task, argument) = (&missing.task, &missing.argument);
        found.push(format!("argument `{argument}` of `{task}` is not known"));
    }
    if !tools.is_empty() && plan.confidence < CONFIDENCE_MIN {
        let sure = plan.confidence;
        found.push(format!("confidence {sure} is below {CONFIDENCE_MIN}"));
    }
    found
}

/// Whether a tool promises to change nothing. What a server does not say counts as the worst.
pub(super) fn only_reads(hints: Hints) -> bool {
    hints.read_only == Some(true) && hints.destructive != Some(true)
}

/// The tools of a plan with their annotations.
pub(super) fn annotated<'t>(tools: impl Iterator<Item = &'t Tool>) -> Vec<(ToolName, Hints)> {
    tools.map(|tool| (tool.name.clone(), tool.hints)).collect()
}

/// A request as words, what is quoted left out.
struct Words {
    /// Each word in small letters, and whether a clause begins with it.
    all: Vec<(String, bool)>,
    has_question_mark: bool,
    has_sign: bool,
}

impl Words {
    fn of(wish: &str) -> Self {
        let quoted = literals::quotes(wish);
        let inside =
            |at: usize, spans: &[Range<usize>]| spans.iter().any(|span| span.contains(&at));
        let mut words = Self {
            all: Vec::new(),
            has_question_mark: false,
            has_sign: false,
        };
        let mut word = String::new();
        let mut begins = true;
        let mut chars = wish.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let is_quoted = inside(at, &quoted);
            // An apostrophe within a word is a part of it, whichever of them is written.
            let c = if c == '’' { '\'' } else { c };
            if !is_quoted && (c.is_alphanumeric() || (c == '\'' && !word.is_empty())) {
                word.extend(c.to_lowercase());
                words.has_sign |= NEGATION_SIGNS.contains(&c);
                continue;
            }
            words.push(&mut word, &mut begins);
            if is_quoted {
                begins = false;
                continue;
            }
            let ends = chars.peek().is_none_or(|(_, next)| !next.is_alphanumeric());
            // Within an address a question mark asks nothing.
            words.has_question_mark |= matches!(c, '?' | '？' | '؟') && ends;
            begins |= matches!(
                c,
                '.' | ';' | ',' | ':' | '!' | '\n' | '(' | '-' | '–' | '—'
            );
        }
        words.push(&mut word, &mut begins);
        words
    }

    fn push(&mut self, word: &mut String, begins: &mut bool) {
        let text = word.trim_matches('\'').to_owned();
        word.clear();
        if text.is_empty() {
            return;
        }
        // The word after a polite one still begins its clause.
        let stays = *begins && POLITE.contains(&text.as_str());
        self.all.push((text, *begins));
        *begins = stays;
    }

    fn negation(&self) -> Option<&str> {
        if self.has_sign {
            return Some("不");
        }
        let single = |word: &&str| word.ends_with("n't") || NEGATIONS.contains(word);
        let texts = || self.all.iter().map(|(word, _)| word.as_str());
        if let Some(word) = texts().find(single) {
            return Some(word);
        }
        // The two may have the thing itself between them: "leave the account alone".
        let pair = NEGATIONS_OF_TWO.iter().find(|(first, second)| {
            let at = texts().position(|word| word == *first);
            at.is_some_and(|at| texts().skip(at + 1).any(|word| word == *second))
        });
        pair.map(|(first, _)| *first)
    }

    fn question(&self) -> Option<String> {
        if self.has_question_mark {
            return Some("it is a question".to_owned());
        }
        let texts = self.all.iter();
        let asks = |(word, begins): &&(String, bool)| {
            let word = word.split('\'').next().unwrap_or_default();
            (*begins && ASKING.contains(&word)) || WHETHER.contains(&word)
        };
        let word = texts.clone().find(asks).map(|(word, _)| word.as_str());
        let many = |pair: &[(String, bool)]| {
            pair[0].0 == "how" && matches!(pair[1].0.as_str(), "many" | "much" | "often" | "long")
        };
        let word = word.or_else(|| self.all.windows(2).any(many).then_some("how"));
        word.map(|word| format!("\"{word}\" makes it a question"))
    }

    fn condition(&self) -> Option<&str> {
        let mut texts = self.all.iter().map(|(word, _)| word.as_str());
        texts.find(|word| CONDITIONS.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(wish: &str) -> bool {
        let words = Words::of(wish);
        words.negation().is_some() || words.question().is_some() || words.condition().is_some()
    }

    #[test]
    fn negations_questions_and_conditions_are_seen() {
        for wish in [
            "Do not close the account of 'Ada'",
            "Don't close the account",
            "Don’t close the account",
            "DONT close it",
            "never send the invoice",
            "list the files without reading them",
            "Stop sending invoices to 'ACME'",
            "we no longer need the report",
            "avoid deleting b.txt",
            "hold off on the refund",
            "Leave the account of 'Ada' alone",
            "read everything except a.txt",
            "read '90s notes, don't close the account",
            "Bitte das Konto nicht schliessen",
            "ne supprimez pas le fichier",
            "不要删除文件",
            "Has the invoice for 'ACME' been paid?",
            "is the account closed",
            "please, can you read a.txt",
            "Which files are there",
            "tell me whether it is paid",
            "tell me how many files there are",
            "What's in a.txt",
            "read a.txt if it is there",
            "close it unless it is paid",
            "read a.txt tomorrow",
        ] {
            assert!(holds(wish), "{wish}");
        }
    }

    #[test]
    fn plain_requests_are_left_alone() {
        for wish in [
            "Read the file src/main.rs",
            "list the tables of the database",
            "search the notes for 'do not disturb'",
            "search for \"who goes there?\"",
            "open https://example.com/a?b=1 and show it",
            "show Ann's notes on Notting Hill",
            "show the cancelled orders",
        ] {
            assert!(!holds(wish), "{wish}");
        }
    }

    #[test]
    fn any_text_is_read() {
        for wish in ["", "'", "’’’", "?", "n't", "ﷺ ? ‘", "不", "\u{0}\n-"] {
            let _ = holds(wish);
        }
    }
}
