//! The flaws of one document while it is read: all of them, up to a number a person can use.

use crate::flaw::{Code, Flaw, Place, Severity};

/// More flaws than this are counted but not kept: nobody reads them, and each costs memory.
const FLAWS_MAX: usize = 500;

/// Longer messages are cut, in characters: some quote what the document says.
const MESSAGE_CHARS_MAX: usize = 500;

/// Collects flaws.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    found: Vec<Flaw>,
    dropped: usize,
}

impl Flaws {
    /// Adds a flaw; an empty suggestion is none.
    pub(crate) fn add(
        &mut self,
        code: Code,
        place: Place,
        message: impl Into<String>,
        suggestion: impl Into<String>,
    ) {
        let suggestion = suggestion.into();
        self.push(Flaw {
            code,
            place,
            message: message.into(),
            suggestion: (!suggestion.is_empty()).then_some(suggestion),
        });
    }

    /// Adds a flaw that is already put together.
    pub(crate) fn push(&mut self, mut flaw: Flaw) {
        if self.found.len() < FLAWS_MAX {
            if let Some((at, _)) = flaw.message.char_indices().nth(MESSAGE_CHARS_MAX) {
                flaw.message.truncate(at);
                flaw.message.push('…');
            }
            self.found.push(flaw);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether no more are kept: their places need not be worked out.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= FLAWS_MAX
    }

    /// Whether there are errors of another kind than this.
    pub(crate) fn fatal_but(&self, code: Code) -> bool {
        let is_other = |it: &Flaw| it.code.severity() == Severity::Error && it.code != code;
        self.dropped > 0 || self.found.iter().any(is_other)
    }

    /// Whether one of them forbids using the document.
    pub(crate) fn fatal(&self) -> bool {
        self.fatal_since(0)
    }

    /// Whether one that came after the first `before` does.
    pub(crate) fn fatal_since(&self, before: usize) -> bool {
        self.dropped > 0
            || self
                .found
                .iter()
                .skip(before)
                .any(|flaw| flaw.code.severity() == Severity::Error)
    }

    /// How many there are, so that a part of the work can tell whether it added any.
    pub(crate) fn count(&self) -> usize {
        self.found.len() + self.dropped
    }

    /// All of them by place, each once.
    pub(crate) fn sorted(mut self) -> Vec<Flaw> {
        let key = |flaw: &Flaw| (flaw.place.line, flaw.place.column, flaw.code);
        self.found
            .sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message)));
        self.found
            .dedup_by(|later, first| key(later) == key(first) && later.message == first.message);
        if self.dropped > 0
            && let Some(last) = self.found.last()
        {
            let flaw = Flaw {
                code: Code::TooMany,
                place: last.place.clone(),
                message: format!("{} more flaws are not shown", self.dropped),
                suggestion: Some("mend these first".into()),
            };
            self.found.push(flaw);
        }
        self.found
    }
}
