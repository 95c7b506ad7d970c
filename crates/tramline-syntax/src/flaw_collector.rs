//! Collects the flaws of a document while it is read, up to a limit.

use tramline_workflow::flaw::{Flaw, FlawCode, Severity, SourceSpan};

/// Most flaws kept per document; more are only counted, to limit memory.
const FLAWS_MAX: usize = 500;

/// Longest message of a flaw, in characters; longer ones are cut, since they may quote the document.
const MESSAGE_CHARS_MAX: usize = 500;

/// How a field that is probably a typo of a known one is reported. Its setting would silently not
/// apply: a call with `aproval: true` would be made without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MistypedFields {
    /// As a warning, for documents that a person wrote or that are already stored.
    #[default]
    Warn,
    /// As an error, for documents that run right after they are read.
    Reject,
}

/// Collects flaws.
#[derive(Debug, Default)]
pub struct FlawCollector {
    flaws: Vec<Flaw>,
    dropped: usize,
    mistyped_fields: MistypedFields,
}

impl FlawCollector {
    /// A collector that reports probable typos in this way.
    pub fn new(mistyped_fields: MistypedFields) -> Self {
        Self {
            mistyped_fields,
            ..Self::default()
        }
    }

    /// The code for a field that is probably a typo of a known one.
    pub fn mistyped_field_code(&self) -> FlawCode {
        match self.mistyped_fields {
            MistypedFields::Warn => FlawCode::UnknownField,
            MistypedFields::Reject => FlawCode::MistypedField,
        }
    }

    /// Adds a flaw; an empty suggestion means none.
    pub fn add(
        &mut self,
        code: FlawCode,
        place: SourceSpan,
        message: impl Into<String>,
        suggestion: impl Into<String>,
    ) {
        let suggestion = suggestion.into();
        self.push(Flaw {
            code,
            span: place,
            message: message.into(),
            suggestion: (!suggestion.is_empty()).then_some(suggestion),
        });
    }

    /// Adds a complete flaw.
    pub fn push(&mut self, mut flaw: Flaw) {
        if self.flaws.len() < FLAWS_MAX {
            if let Some((at, _)) = flaw.message.char_indices().nth(MESSAGE_CHARS_MAX) {
                flaw.message.truncate(at);
                flaw.message.push('…');
            }
            self.flaws.push(flaw);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether the limit is reached, so that locations need not be computed.
    pub fn is_full(&self) -> bool {
        self.flaws.len() >= FLAWS_MAX
    }

    /// The flaws so far.
    pub fn iter(&self) -> impl Iterator<Item = &Flaw> {
        self.flaws.iter()
    }

    /// Whether there is a flaw with this code at this place.
    pub fn has_at(&self, code: FlawCode, place: &SourceSpan) -> bool {
        let mut flaws = self.flaws.iter();
        flaws.any(|flaw| flaw.code == code && flaw.span == *place)
    }

    /// Whether there are errors with a code other than this one.
    pub fn has_errors_except(&self, code: FlawCode) -> bool {
        let is_other = |it: &Flaw| it.code.severity() == Severity::Error && it.code != code;
        self.dropped > 0 || self.flaws.iter().any(is_other)
    }

    /// Whether there are errors.
    pub fn has_errors(&self) -> bool {
        self.has_errors_since(0)
    }

    /// Whether there are errors after the first `before` flaws.
    pub fn has_errors_since(&self, before: usize) -> bool {
        self.dropped > 0
            || self
                .flaws
                .iter()
                .skip(before)
                .any(|flaw| flaw.code.severity() == Severity::Error)
    }

    /// The number of flaws, including those not kept.
    pub fn count(&self) -> usize {
        self.flaws.len() + self.dropped
    }

    /// All flaws ordered by location, without duplicates.
    pub fn into_sorted(mut self) -> Vec<Flaw> {
        let key = |flaw: &Flaw| (flaw.span.line, flaw.span.column, flaw.code);
        self.flaws
            .sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message)));
        self.flaws
            .dedup_by(|later, first| key(later) == key(first) && later.message == first.message);
        if self.dropped > 0
            && let Some(last) = self.flaws.last()
        {
            let flaw = Flaw {
                code: FlawCode::TooMany,
                span: last.span.clone(),
                message: format!("{} more flaws are not shown", self.dropped),
                suggestion: Some("fix these first".into()),
            };
            self.flaws.push(flaw);
        }
        self.flaws
    }
}
