//! One finding of a check, and how findings are shown.

use crate::cli::output::{self, TextStyle};
use serde_json::{Value, json};

/// What a check found about one subject.
pub(in crate::cli) struct Finding {
    pub(in crate::cli) is_ok: bool,
    pub(in crate::cli) subject: String,
    pub(in crate::cli) message: String,
}

impl Finding {
    pub(in crate::cli) fn new(
        is_ok: bool,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            is_ok,
            subject: subject.into(),
            message: message.into(),
        }
    }

    pub(in crate::cli) fn ok(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(true, subject, message)
    }

    /// A problem that has to be solved.
    pub(in crate::cli) fn bad(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(false, subject, message)
    }

    pub(in crate::cli) fn all_as_json(findings: &[Self]) -> Value {
        let shown = findings.iter().map(|finding| {
            json!({ "ok": finding.is_ok, "what": finding.subject, "says": finding.message })
        });
        shown.collect()
    }

    pub(in crate::cli) fn print_all(findings: &[Self]) {
        for Self {
            is_ok,
            subject,
            message,
        } in findings
        {
            let (style, mark) = match is_ok {
                true => (TextStyle::Good, '✓'),
                false => (TextStyle::Bad, '✗'),
            };
            output::text_line(&format!("{style}{mark}{style:#} {subject}: {message}"));
        }
    }
}
