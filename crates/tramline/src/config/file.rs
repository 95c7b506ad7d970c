//! The configuration file: settings an operator writes once instead of as flags. Each flaw has its
//! place.

use super::{
    ApprovalConfig, ControlConfig, ModelConfig, RunLimits, SharedStoreParts, SopConfig,
    read_bounded,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tramline_builtin::HostPattern;
use tramline_engine::{Quota, RateLimit, Retention, ToolPattern, ToolPolicy};
use tramline_expr::Value;
use tramline_syntax::document::{self, Spanned};
use tramline_workflow::authority::AgentAnswers;
use tramline_workflow::flaw::{Flaw, FlawCode, Severity};
use tramline_workflow::journal::Budget;
use tramline_workflow::text::{display_name, nearest, parse_duration_ms};

mod limits;
mod model;
mod store;

/// The largest configuration file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Milliseconds per day.
const DAY_MS: u64 = 86_400_000;

/// The fields of the file.
const FIELDS: [&str; 17] = [
    "policy",
    "approvals",
    "budget",
    "control",
    "sop",
    "quota",
    "limits",
    "retention",
    "throttle",
    "mcp_config",
    "roots",
    "hosts",
    "shell",
    "model",
    "embedder",
    "learn",
    "store",
];

/// The contents of a configuration file. Missing fields have their defaults.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    /// Which calls are denied, and which need approval.
    pub policy: ToolPolicy,
    /// Who may answer a run's questions.
    pub approvals: ApprovalConfig,
    /// The budget of every run, after which a person is asked.
    pub budget: Option<Budget>,
    /// Options for runs that agents submit.
    pub control: ControlConfig,
    /// Options for pinned procedures.
    pub sop: SopConfig,
    /// Limits on all runs together.
    pub quota: Quota,
    /// Limits that runs and documents cannot exceed.
    pub limits: RunLimits,
    /// Which finished runs are kept.
    pub retention: Retention,
    /// How often tools may be called.
    pub throttle: Vec<RateLimit>,
    /// An MCP client configuration (JSON) with additional servers.
    pub mcp_config: Option<PathBuf>,
    /// The directories in which files may be read and written.
    pub roots: Vec<PathBuf>,
    /// The hosts that `http` may call.
    pub hosts: Vec<HostPattern>,
    /// Whether `shell` may run commands.
    pub shell: bool,
    /// The model that plans and answers prompts.
    pub model: Option<ModelConfig>,
    /// The directory of the embedding model for search.
    pub embedder: Option<PathBuf>,
    /// Turns off learning from successful plans and using what was learned.
    pub learn_off: bool,
    /// A database that several processes share.
    pub store: SharedStoreParts,
}

/// An invalid file, with its text.
#[derive(Debug)]
pub struct ConfigFileFlaws {
    /// Its text.
    pub text: String,
    /// What is wrong with it.
    pub flaws: Vec<Flaw>,
}

impl ConfigFile {
    /// Reads a file; paths in it are relative to its directory.
    pub fn read(path: &Path) -> Result<(Self, Vec<Flaw>), Result<ConfigFileFlaws, String>> {
        let bytes = read_bounded(path, FILE_BYTES_MAX).map_err(Err)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::parse(&bytes, directory).map_err(|flaws| {
            Ok(ConfigFileFlaws {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                flaws,
            })
        })
    }

    /// Parses the text of a file in this directory. Returns its warnings too.
    pub fn parse(bytes: &[u8], directory: &Path) -> Result<(Self, Vec<Flaw>), Vec<Flaw>> {
        let tree = document::read(bytes)?;
        let mut reader = ConfigReader { flaws: Vec::new() };
        let root = tree.root();
        let mut file = Self::default();
        if root.value.as_object().is_none() {
            reader.wrong_type(root, "the file", "an object");
        }
        reader.reject_unknown(root, "the file", &FIELDS);
        reader.policy(root, &mut file.policy);
        reader.approvals(root, &mut file.approvals);
        reader.budget(root, &mut file.budget);
        reader.control(root, &mut file.control);
        reader.sop(root, &mut file.sop);
        reader.quota(root, &mut file.quota);
        reader.limits(root, &mut file.limits);
        reader.retention(root, &mut file.retention);
        reader.throttle(root, &mut file.throttle);
        let text = present(root, "mcp_config").and_then(|at| reader.text(at, "mcp_config"));
        file.mcp_config = text.map(|path| directory.join(path));
        let text = present(root, "embedder").and_then(|at| reader.text(at, "embedder"));
        file.embedder = text.map(|path| directory.join(path));
        if let Some(at) = present(root, "learn") {
            match at.value.as_bool() {
                Some(learns) => file.learn_off = !learns,
                None => reader.wrong_type(at, "learn", "true or false"),
            }
        }
        let roots = reader.texts(root, "roots");
        file.roots = roots.iter().map(|(root, _)| directory.join(root)).collect();
        for (host, at) in reader.texts(root, "hosts") {
            match host.parse() {
                Ok(host) => file.hosts.push(host),
                Err(bad) => reader.invalid(at, bad.to_string()),
            }
        }
        if let Some(at) = present(root, "shell") {
            match at.value.as_bool() {
                Some(allowed) => file.shell = allowed,
                None => reader.wrong_type(at, "shell", "true or false"),
            }
        }
        file.model = reader.model(root, directory);
        file.store = reader.store(root);
        let mut flaws = reader.flaws;
        flaws.sort_by_key(|flaw| (flaw.span.line, flaw.span.column));
        let fatal = |flaw: &Flaw| flaw.code.severity() == Severity::Error;
        if flaws.iter().any(fatal) {
            return Err(flaws);
        }
        Ok((file, flaws))
    }
}

/// The value under a key, if it is present and not null.
fn present<'t>(at: Spanned<'t>, key: &str) -> Option<Spanned<'t>> {
    at.get(key).filter(|field| !field.value.is_null())
}

/// Reads fields and collects flaws.
struct ConfigReader {
    flaws: Vec<Flaw>,
}

impl ConfigReader {
    fn add(
        &mut self,
        code: FlawCode,
        at: Spanned<'_>,
        message: String,
        suggestion: Option<String>,
    ) {
        self.flaws.push(Flaw {
            code,
            span: at.source_span(),
            message,
            suggestion,
        });
    }

    fn invalid(&mut self, at: Spanned<'_>, message: String) {
        self.add(FlawCode::WrongType, at, message, None);
    }

    fn wrong_type(&mut self, at: Spanned<'_>, name: &str, wanted: &str) {
        let message = format!("`{name}` must be {wanted}, not {}", at.value.kind());
        self.invalid(at, message);
    }

    fn reject_unknown(&mut self, at: Spanned<'_>, owner: &str, known: &[&str]) {
        for (slot, (key, _)) in at.fields().enumerate() {
            if known.contains(&key.as_str()) {
                continue;
            }
            let suggestion = match nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known fields: {}", known.join(", ")),
            };
            // A typo in an operator's rules must not be ignored silently.
            self.flaws.push(Flaw {
                code: FlawCode::WrongType,
                span: at.key_source_span(slot),
                message: format!("{owner} has no field `{}`", display_name(key)),
                suggestion: Some(suggestion),
            });
        }
    }

    fn text<'t>(&mut self, at: Spanned<'t>, name: &str) -> Option<&'t str> {
        let text = at.value.as_str();
        if text.is_none() {
            self.wrong_type(at, name, "text");
        }
        text
    }

    fn texts<'t>(&mut self, at: Spanned<'t>, key: &str) -> Vec<(&'t str, Spanned<'t>)> {
        let Some(list) = present(at, key) else {
            return Vec::new();
        };
        if list.value.as_array().is_none() {
            self.wrong_type(list, key, "a list");
        }
        let items = list.items();
        items
            .filter_map(|item| self.text(item, key).map(|text| (text, item)))
            .collect()
    }

    fn section<'t>(&mut self, at: Spanned<'t>, key: &str, known: &[&str]) -> Option<Spanned<'t>> {
        let section = present(at, key)?;
        if section.value.as_object().is_none() {
            self.wrong_type(section, key, "an object");
            return None;
        }
        self.reject_unknown(section, &format!("`{key}`"), known);
        Some(section)
    }

    fn whole_number(&mut self, at: Spanned<'_>, key: &str, least: u64) -> Option<u64> {
        let field = present(at, key)?;
        let number = field.value.as_u64().filter(|number| *number >= least);
        if number.is_none() {
            let message = format!("`{key}` must be a whole number of at least {least}");
            self.invalid(field, message);
        }
        number
    }

    fn pattern(&mut self, (text, at): (&str, Spanned<'_>)) -> Option<ToolPattern> {
        match ToolPattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(bad) => {
                self.invalid(at, bad.to_string());
                None
            }
        }
    }

    fn policy(&mut self, root: Spanned<'_>, policy: &mut ToolPolicy) {
        let Some(at) = self.section(root, "policy", &["ask", "deny"]) else {
            return;
        };
        for (key, patterns) in [("ask", &mut policy.ask), ("deny", &mut policy.deny)] {
            for text in self.texts(at, key) {
                patterns.extend(self.pattern(text));
            }
        }
    }

    fn approvals(&mut self, root: Spanned<'_>, approvals: &mut ApprovalConfig) {
        let Some(at) = self.section(root, "approvals", &["agents", "terminal"]) else {
            return;
        };
        if let Some(field) = present(at, "agents") {
            let word = field.value.as_str();
            let mut all = AgentAnswers::ALL.into_iter();
            match all.find(|one| word == Some(one.as_str())) {
                Some(agents) => approvals.agents = agents,
                None => self.invalid(field, "`agents` must be none, relay or all".to_owned()),
            }
        }
        if let Some(field) = present(at, "terminal") {
            match field.value.as_bool() {
                Some(terminal) => approvals.terminal = Some(terminal),
                None => self.wrong_type(field, "terminal", "true or false"),
            }
        }
    }

    fn budget(&mut self, root: Spanned<'_>, budget: &mut Option<Budget>) {
        let Some(at) = present(root, "budget") else {
            return;
        };
        match Budget::parse(at.value) {
            Ok(read) => *budget = Some(read),
            Err(wrong) => self.invalid(at, wrong),
        }
    }

    fn control(&mut self, root: Spanned<'_>, control: &mut ControlConfig) {
        let Some(at) = self.section(root, "control", &["ttl", "commands_per_minute"]) else {
            return;
        };
        if let Some(field) = present(at, "ttl")
            && let Some(ttl) = self.time(field, "ttl")
        {
            control.ttl = Some(ttl);
        }
        if let Some(most) = self.whole_number(at, "commands_per_minute", 1) {
            control.commands_per_minute = u32::try_from(most).unwrap_or(u32::MAX);
        }
    }

    fn sop(&mut self, root: Spanned<'_>, sop: &mut SopConfig) {
        let Some(at) = self.section(root, "sop", &["free_tools", "conversations"]) else {
            return;
        };
        for text in self.texts(at, "free_tools") {
            sop.free_tools.extend(self.pattern(text));
        }
        if let Some(most) = self.whole_number(at, "conversations", 1) {
            sop.conversations = usize::try_from(most).unwrap_or(usize::MAX);
        }
    }

    fn quota(&mut self, root: Spanned<'_>, quota: &mut Quota) {
        let known = ["open_runs", "journal_bytes", "disk_bytes"];
        let Some(at) = self.section(root, "quota", &known) else {
            return;
        };
        quota.runs_open_max = self.whole_number(at, "open_runs", 1);
        quota.bytes_max = self.whole_number(at, "journal_bytes", 1);
        quota.disk_bytes_max = self.whole_number(at, "disk_bytes", 1);
    }

    fn time(&mut self, field: Spanned<'_>, key: &str) -> Option<Duration> {
        let ms = match field.value {
            Value::String(text) => parse_duration_ms(text),
            other => other.as_u64(),
        };
        let time = ms.filter(|ms| *ms > 0).map(Duration::from_millis);
        if time.is_none() {
            self.invalid(field, format!("`{key}` must be a time such as 30m or 1h"));
        }
        time
    }

    fn retention(&mut self, root: Spanned<'_>, retention: &mut Retention) {
        let Some(at) = self.section(root, "retention", &["days", "bytes"]) else {
            return;
        };
        let days = self.whole_number(at, "days", 1);
        retention.age_ms_max = days.map(|days| days.saturating_mul(DAY_MS));
        retention.bytes_max = self.whole_number(at, "bytes", 1);
    }

    fn throttle(&mut self, root: Spanned<'_>, rates: &mut Vec<RateLimit>) {
        let Some(list) = present(root, "throttle") else {
            return;
        };
        if list.value.as_array().is_none() {
            self.wrong_type(list, "throttle", "a list");
        }
        for item in list.items() {
            if item.value.as_object().is_none() {
                self.wrong_type(item, "throttle", "a list of objects");
                continue;
            }
            self.reject_unknown(item, "a throttle", &["pattern", "per_minute"]);
            let pattern =
                present(item, "pattern").and_then(|at| Some((self.text(at, "pattern")?, at)));
            let pattern = pattern.and_then(|text| self.pattern(text));
            let per_minute = self.whole_number(item, "per_minute", 1);
            for key in ["pattern", "per_minute"] {
                if present(item, key).is_none() {
                    let message = format!("the `{key}` of a throttle is missing");
                    self.add(FlawCode::MissingField, item, message, None);
                }
            }
            if let (Some(pattern), Some(per_minute)) = (pattern, per_minute) {
                rates.push(RateLimit {
                    pattern,
                    per_minute: u32::try_from(per_minute).unwrap_or(u32::MAX),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read() {
        let text = "policy:\n  ask: ['github:delete_*']\n  deny: ['*:drop*']\n\
            control: { ttl: 30m, commands_per_minute: 60 }\nquota: { open_runs: 5, journal_bytes: 1000 }\n\
            throttle:\n  - { pattern: 'github:*', per_minute: 30 }\nmcp_config: mcp.json\nroots: [docs]\n\
            hosts: [api.example.com]\nshell: true\nretention: { days: 30, bytes: 5000 }\nmodel:\n  { dialect: anthropic, name: m, key: '${KEY}', timeout: 90s, temperature: 0, record: said.jsonl }\n";
        let (file, odd) = ConfigFile::parse(text.as_bytes(), Path::new("/etc/t")).unwrap();
        assert!(odd.is_empty());
        assert_eq!(file.policy.ask[0].as_str(), "github:delete_*");
        assert_eq!(file.policy.deny.len(), 1);
        assert_eq!(file.control.ttl, Some(Duration::from_secs(1_800)));
        assert_eq!(file.control.commands_per_minute, 60);
        assert_eq!(file.quota.runs_open_max, Some(5));
        assert_eq!(file.throttle[0].per_minute, 30);
        assert_eq!(file.retention.age_ms_max, Some(30 * DAY_MS));
        assert_eq!(file.retention.bytes_max, Some(5000));
        assert_eq!(
            file.mcp_config.as_deref(),
            Some(Path::new("/etc/t/mcp.json"))
        );
        assert_eq!(file.roots, [Path::new("/etc/t/docs")]);
        assert_eq!(file.hosts.len(), 1);
        assert!(file.shell);
        let model = file.model.unwrap();
        assert_eq!(model.dialect.as_str(), "anthropic");
        assert_eq!(model.timeout, Some(Duration::from_secs(90)));
        assert_eq!(model.temperature, Some(0.0));
        assert_eq!(
            model.record.as_deref(),
            Some(Path::new("/etc/t/said.jsonl"))
        );
        assert!(!format!("{model:?}").contains("KEY"), "keys are not shown");
    }

    #[test]
    fn a_model_that_is_not_said_well_is_told() {
        let text = "model:\n  dialect: latin\n  timeout: soon\n  nme: x\n";
        let flaws = ConfigFile::parse(text.as_bytes(), Path::new("")).unwrap_err();
        let places: Vec<_> = flaws.iter().map(|flaw| flaw.span.line).collect();
        assert_eq!(places, [2, 2, 3, 4], "{flaws:?}");
    }

    #[test]
    fn every_flaw_is_told_at_its_place() {
        let text = "polcy: {}\npolicy:\n  ask: ['delete_*', 3]\n  denny: []\ncontrol:\n  ttl: soon\n  \
            commands_per_minute: 0\nthrottle:\n  - { pattern: 'a:b' }\nroots: docs\n";
        let flaws = ConfigFile::parse(text.as_bytes(), Path::new("")).unwrap_err();
        let places: Vec<_> = flaws
            .iter()
            .map(|flaw| (flaw.span.line, flaw.span.column))
            .collect();
        assert_eq!(
            places,
            [
                (1, 1),
                (3, 9),
                (3, 21),
                (4, 3),
                (6, 8),
                (7, 24),
                (9, 5),
                (10, 8)
            ]
        );
        assert_eq!(
            flaws[0].suggestion.as_deref(),
            Some("did you mean `policy`?")
        );
    }
}
