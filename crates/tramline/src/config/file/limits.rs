//! `limits`: what runs and documents cannot exceed, whatever they declare.

use super::super::RunLimits;
use super::{ConfigReader, present};
use tramline_syntax::document::Spanned;
use tramline_workflow::workflow::WorkflowLimits;

/// The limits of one kind of document.
const OF_DOCUMENTS: [&str; 4] = ["steps", "time", "calls", "journal_bytes"];

impl ConfigReader {
    pub(super) fn limits(&mut self, root: Spanned<'_>, limits: &mut RunLimits) {
        let known = ["documents", "agents", "descendants", "runs_at_once"];
        let Some(at) = self.section(root, "limits", &known) else {
            return;
        };
        let RunLimits {
            ceilings,
            descendants,
            runs_at_once,
        } = limits;
        self.ceiling(at, "documents", &mut ceilings.documents);
        self.ceiling(at, "agents", &mut ceilings.agents);
        if let Some(most) = self.whole_number(at, "descendants", 0) {
            *descendants = most;
        }
        if let Some(most) = self.whole_number(at, "runs_at_once", 1) {
            *runs_at_once = usize::try_from(most).unwrap_or(usize::MAX);
        }
    }

    fn ceiling(&mut self, at: Spanned<'_>, key: &str, ceiling: &mut WorkflowLimits) {
        let Some(at) = self.section(at, key, &OF_DOCUMENTS) else {
            return;
        };
        let WorkflowLimits {
            steps_max,
            active_ms_max,
            calls_max,
            bytes_max,
        } = ceiling;
        for (key, most) in [
            ("steps", steps_max),
            ("calls", calls_max),
            ("journal_bytes", bytes_max),
        ] {
            if let Some(said) = self.whole_number(at, key, 1) {
                *most = said;
            }
        }
        if let Some(field) = present(at, "time")
            && let Some(time) = self.time(field, "time")
        {
            *active_ms_max = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigFile;
    use std::path::Path;
    use tramline_workflow::next::AGENT_CALLS_MAX;

    #[test]
    fn limits_are_read_and_what_is_left_out_stays() {
        let text = "limits:\n  agents: { steps: 5, time: 10m, journal_bytes: 1000 }\n  \
            documents: { calls: 7 }\n  descendants: 3\n  runs_at_once: 4\nquota: { disk_bytes: 9 }\n";
        let (file, odd) = ConfigFile::parse(text.as_bytes(), Path::new("/etc/t")).unwrap();
        assert!(odd.is_empty());
        let agents = file.limits.ceilings.agents;
        assert_eq!((agents.steps_max, agents.active_ms_max), (5, 600_000));
        assert_eq!(
            (agents.bytes_max, agents.calls_max),
            (1_000, AGENT_CALLS_MAX)
        );
        let documents = file.limits.ceilings.documents;
        assert_eq!((documents.calls_max, documents.steps_max), (7, u64::MAX));
        assert_eq!((file.limits.descendants, file.limits.runs_at_once), (3, 4));
        assert_eq!(file.quota.disk_bytes_max, Some(9));
    }

    #[test]
    fn slips_are_flaws() {
        let text =
            "limits:\n  agent: { steps: 5 }\n  documents: { time: soon }\n  runs_at_once: 0\n";
        let flaws = ConfigFile::parse(text.as_bytes(), Path::new("/etc/t")).unwrap_err();
        assert_eq!(flaws.len(), 3, "{flaws:?}");
    }
}
