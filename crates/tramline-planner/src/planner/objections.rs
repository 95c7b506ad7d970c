//! Objections to running a plan that was made from a request without review.
//!
//! The planner matches words and does not understand them: "do not close the account" and "close the account" name the
//! same tool. A plan therefore runs immediately only if it cannot change anything and nothing in the request reverses
//! its meaning. Every other plan is a suggestion.

use super::TaskPlan;
use std::ops::Range;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_engine::scrub::quoted_ranges;
use tramline_workflow::ids::ToolName;

/// A plan with a lower confidence is only a suggestion. Confidence is calibrated: in `cargo xtask bench planner`, five
/// of six plans at 0.8 or above were correct.
pub(super) const CONFIDENCE_MIN: f64 = 0.8;

/// Words that reverse a request or exclude something from it. Words that end in `n't` count too.
const NEGATIONS: [&str; 107] = [
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
    // Requests in other languages still match by names and values.
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
    "nichts",
    "nein",
    "nix",
    "keiner",
    "keines",
    "keinesfalls",
    "keineswegs",
    "niemand",
    "niemandem",
    "niemanden",
    "weder",
    "außer",
    "ausser",
    "unterlasse",
    "ni",
    "tampoco",
    "nada",
    "nadie",
    "jamas",
    "ningún",
    "ninguno",
    "ninguna",
    "excepto",
    "salvo",
    "evitar",
    "aucun",
    "aucune",
    "rien",
    "sauf",
    "niente",
    "nessuno",
    "nope",
    "не",
    "нет",
    "без",
    "никогда",
];
/// Negations of two words.
const NEGATION_PAIRS: [(&str, &str); 8] = [
    ("hold", "off"),
    ("leave", "alone"),
    ("let", "alone"),
    ("other", "than"),
    ("far", "from"),
    ("keep", "from"),
    ("back", "out"),
    ("opposite", "of"),
];
/// Negating characters in scripts that do not separate words.
const NEGATION_CHARS: [char; 8] = ['不', '别', '別', '勿', '没', '沒', '无', '無'];

/// Words that begin a question.
const QUESTION_WORDS: [&str; 44] = [
    "who", "whom", "whose", "what", "whats", "when", "where", "why", "how", "which", "is", "are",
    "was", "were", "am", "has", "have", "had", "does", "did", "do", "can", "could", "should",
    "would", "will", "may", "might", "shall", "must", "any", "anyone", "anybody", "wer", "wie",
    "warum", "wann", "wo", "ist", "sind", "qui", "comment", "pourquoi", "quién",
];
/// Words that introduce a question anywhere in a sentence.
const INDIRECT_QUESTION_WORDS: [&str; 2] = ["whether", "ob"];
/// Polite words that may precede the question word.
const POLITE_WORDS: [&str; 8] = ["please", "so", "and", "then", "hey", "hi", "ok", "also"];

/// Words that make a request depend on something that is not known yet.
const CONDITION_WORDS: [&str; 16] = [
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

/// Why a plan for this request must not run immediately; empty if it may. `tools` are the tools of the plan.
pub(super) fn objections(
    wish: &str,
    plan: &TaskPlan,
    tools: &[(ToolName, ToolHints)],
) -> Vec<String> {
    let mut found = Vec::new();
    if tools.is_empty() {
        found.push("no tool was found for it".to_owned());
    }
    for (tool, _) in tools.iter().filter(|(_, hints)| !is_read_only(*hints)) {
        found.push(format!("{tool} is not annotated as read-only"));
    }
    let words = RequestWords::of(wish);
    if let Some(word) = words.negation() {
        found.push(format!("\"{word}\" may reverse the meaning of the request"));
    }
    if let Some(why) = words.question() {
        found.push(why);
    }
    if let Some(word) = words.condition() {
        found.push(format!("\"{word}\" makes the request conditional"));
    }
    for clause in &plan.uncovered {
        found.push(format!("no task of the plan covers \"{clause}\""));
    }
    for value in &plan.unused_values {
        found.push(format!("no task of the plan uses {value}"));
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

/// Whether a tool declares itself read-only. A missing annotation is treated as the unsafe value.
pub(super) fn is_read_only(hints: ToolHints) -> bool {
    hints.read_only == Some(true) && hints.destructive != Some(true)
}

/// The tools of a plan with their annotations.
pub(super) fn with_annotations<'t>(
    tools: impl Iterator<Item = &'t Tool>,
) -> Vec<(ToolName, ToolHints)> {
    tools.map(|tool| (tool.name.clone(), tool.hints)).collect()
}

/// Whether a word reverses a request by itself.
fn is_negation(word: &str) -> bool {
    word.ends_with("n't") || NEGATIONS.contains(&word)
}

/// A request split into words, without its quoted parts.
struct RequestWords {
    /// Each word in lower case, and whether it begins a clause.
    all: Vec<(String, bool)>,
    has_question_mark: bool,
    has_sign: bool,
}

impl RequestWords {
    fn of(wish: &str) -> Self {
        let quoted = quoted_ranges(wish);
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
            // An apostrophe inside a word belongs to it, in either of its two forms.
            let c = if c == '’' { '\'' } else { c };
            if !is_quoted && (c.is_alphanumeric() || (c == '\'' && !word.is_empty())) {
                word.extend(c.to_lowercase());
                words.has_sign |= NEGATION_CHARS.contains(&c);
                continue;
            }
            words.push(&mut word, &mut begins);
            if is_quoted {
                begins = false;
                continue;
            }
            let ends = chars.peek().is_none_or(|(_, next)| !next.is_alphanumeric());
            // A question mark inside a URL does not ask anything.
            words.has_question_mark |= matches!(c, '?' | '？' | '؟') && ends || c == '¿';
            begins |= matches!(
                c,
                '.' | ';' | ',' | ':' | '!' | '\n' | '(' | '-' | '–' | '—'
            );
        }
        words.push(&mut word, &mut begins);
        words.add_quoted_negations(wish, &quoted);
        words
    }

    /// Adds quoted texts that consist of negations only: such quotes emphasize ("'do not' list them").
    fn add_quoted_negations(&mut self, wish: &str, quoted: &[Range<usize>]) {
        for span in quoted {
            let inside = wish[span.clone()].to_lowercase().replace('’', "'");
            let words: Vec<&str> = inside
                .split(|c: char| !c.is_alphanumeric() && c != '\'')
                .map(|word| word.trim_matches('\''))
                .filter(|word| !word.is_empty())
                .collect();
            let is_filler = |word: &&str| matches!(*word, "do" | "does" | "please" | "ever");
            let fillers = words.iter().filter(|word| is_filler(word)).count();
            let negations = words.iter().filter(|word| is_negation(word)).count();
            if negations > 0 && fillers + negations == words.len() {
                let found = words.into_iter().find(|word| is_negation(word));
                self.all.extend(found.map(|word| (word.to_owned(), false)));
            }
        }
    }

    fn push(&mut self, word: &mut String, begins: &mut bool) {
        let text = word.trim_matches('\'').to_owned();
        word.clear();
        if text.is_empty() {
            return;
        }
        // The word after a polite word still begins its clause.
        let stays = *begins && POLITE_WORDS.contains(&text.as_str());
        self.all.push((text, *begins));
        *begins = stays;
    }

    fn negation(&self) -> Option<&str> {
        if self.has_sign {
            return Some("不");
        }
        let single = |word: &&str| is_negation(word);
        let texts = || self.all.iter().map(|(word, _)| word.as_str());
        if let Some(word) = texts().find(single) {
            return Some(word);
        }
        // Other words may stand between the two: "leave the account alone".
        let pair = NEGATION_PAIRS.iter().find(|(first, second)| {
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
            (*begins && QUESTION_WORDS.contains(&word)) || INDIRECT_QUESTION_WORDS.contains(&word)
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
        texts.find(|word| CONDITION_WORDS.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(wish: &str) -> bool {
        let words = RequestWords::of(wish);
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
            "'Do not' list all customers",
            "\"Never\" list all customers",
            "please “don't” list all customers",
            "list `no` customers",
            "¿list all customers",
            "list all customers ¿",
            "list customers außer 'Ada'",
            "weder list customers",
            "tampoco list customers",
            "nada list customers",
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
