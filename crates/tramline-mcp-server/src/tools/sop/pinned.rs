//! Procedures pinned by the operator: the only ones that can be loaded, as read at startup.

use super::load_graph::{LoadedProcedure, read_procedure};
use crate::{Server, SharedState};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use tramline_engine::{PinnedProcedures, ReservedTools, ToolPattern};
use tramline_expr::{Str, Value};
use tramline_sop::{Procedure, SkippedCondition, SopSession};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::SopStarted;
use tramline_workflow::sop::{Sop, SopMode};

/// A pinned procedure, with those that it includes.
#[derive(Clone, Debug)]
pub struct PinnedProcedure {
    /// Its location, as the operator wrote it.
    pub location: String,
    /// The procedure, followed by those it includes.
    pub sops: Vec<Arc<Sop>>,
    /// The names by which nodes refer to the included ones.
    pub files: Vec<Str>,
    /// Full path of each; empty for those read from an address.
    pub paths: Vec<PathBuf>,
}

/// Options for pinned procedures.
#[derive(Clone, Debug)]
pub struct PinOptions {
    /// Tools that bypass the gate.
    pub ungated: Vec<ToolPattern>,
    /// Maximum number of sessions of one procedure per caller.
    pub sessions_max: usize,
}

impl Default for PinOptions {
    fn default() -> Self {
        Self {
            ungated: Vec::new(),
            // A second session could stay at a node that allows writes while the agent works in the first.
            sessions_max: 1,
        }
    }
}

impl PinnedProcedure {
    /// Its name.
    pub fn name(&self) -> &Str {
        &self.sops[0].name
    }

    /// Whether it rejects calls that it does not allow.
    pub fn enforces(&self) -> bool {
        let sop = &self.sops[0];
        sop.gated && sop.call_mode() == SopMode::Strict
    }

    /// The tools that it names, with those of the procedures it includes.
    fn reserved_tools(&self) -> ReservedTools {
        let tools = self.sops.iter().flat_map(|sop| sop.named_tools());
        let callable = self.sops.iter().flat_map(|sop| sop.callable_tools());
        ReservedTools {
            procedure: self.name().clone(),
            servers: self.sops[0].server_names(),
            tools: tools.collect(),
            callable: callable.collect(),
        }
    }

    /// Which of its procedures a caller names, by name or by path.
    fn find_pinned(&self, asked: &str) -> Option<usize> {
        if asked == self.location {
            return Some(0);
        }
        let by_name = self.sops.iter().position(|sop| sop.name == asked);
        by_name.or_else(|| self.paths.iter().position(|path| is_same_file(path, asked)))
    }

    /// One of its procedures as the main one, with the others it may include. An included procedure is enforced
    /// like the pinned one, whatever its own file says, and uses the same servers.
    fn load_from(&self, at: usize) -> LoadedProcedure {
        let pinned = &self.sops[0];
        let main = match at {
            0 => Arc::clone(pinned),
            at => Arc::new(Sop {
                mode: pinned.mode,
                calls: pinned.calls,
                gated: pinned.gated,
                servers: pinned.servers.clone(),
                ..(*self.sops[at]).clone()
            }),
        };
        let others = (1..self.sops.len()).filter(|other| *other != at);
        let (mut sops, mut files) = (vec![main], Vec::new());
        for other in others {
            sops.push(Arc::clone(&self.sops[other]));
            files.push(self.files[other - 1].clone());
        }
        LoadedProcedure {
            sops,
            files,
            warnings: Vec::new(),
        }
    }

    /// What starting at an included procedure would skip.
    fn skipped_before(&self, at: usize) -> Result<Option<SkippedCondition>, String> {
        let begun = SopStarted {
            sops: self.sops.clone(),
            files: self.files.clone(),
            session: None,
            by: "pin".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
            carried: Vec::new(),
        };
        let built = self.sops.iter();
        let built = built.map(|sop| Procedure::build(Arc::clone(sop)).map(Arc::new));
        let built = built.collect::<Result<_, String>>()?;
        let walk = SopSession::start(RunId::new(0, 0), built, begun, 0);
        let walk = walk.map_err(|illegal| illegal.to_string())?;
        Ok(walk.skipped_by_direct_start(at as u32))
    }
}

/// Whether a path refers to a pinned file: it resolves to it, or is a suffix of its full path. Only pinned
/// files are ever read, so a loose match does no harm.
fn is_same_file(pinned: &Path, asked: &str) -> bool {
    let asked = Path::new(asked);
    if pinned.as_os_str().is_empty() || asked.as_os_str().is_empty() {
        return false;
    }
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if let (Some(one), Some(other)) = (real(asked), real(pinned)) {
        return one == other;
    }
    let plain = |part: &Component<'_>| !matches!(part, Component::CurDir);
    let asked: PathBuf = asked.components().filter(plain).collect();
    pinned == asked || (asked.is_relative() && pinned.ends_with(&asked))
}

/// Result of looking up a pinned procedure.
pub(super) enum PinnedLookup {
    /// The procedure, with the name of the pinned procedure it belongs to.
    Found(Str, LoadedProcedure),
    /// It cannot be loaded, for this reason.
    Refused(String),
}

/// Finds the procedure that a caller names. If only one is pinned, it is the default.
pub(super) fn find(pinned: &[PinnedProcedure], asked: Option<&str>) -> PinnedLookup {
    let names = || {
        let names: Vec<&str> = pinned.iter().map(|it| it.name().as_str()).collect();
        names.join(", ")
    };
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else {
        return match pinned {
            [only] => PinnedLookup::Found(only.name().clone(), only.load_from(0)),
            _ => PinnedLookup::Refused(format!("sop_file is required: one of {}", names())),
        };
    };
    let found = pinned
        .iter()
        .find_map(|it| Some((it, it.find_pinned(asked)?)));
    let Some((procedure, at)) = found else {
        return PinnedLookup::Refused(format!(
            "`{}` is not pinned: only these procedures can be loaded: {}",
            tramline_workflow::text::display_name(asked),
            names()
        ));
    };
    if at > 0 {
        match procedure.skipped_before(at) {
            Ok(None) => {}
            Ok(Some(condition)) => {
                return PinnedLookup::Refused(format!(
                    "{} is part of {} and {}: load {}",
                    procedure.sops[at].name,
                    procedure.name(),
                    condition.describe(),
                    procedure.name()
                ));
            }
            Err(message) => return PinnedLookup::Refused(message),
        }
    }
    PinnedLookup::Found(procedure.name().clone(), procedure.load_from(at))
}

impl SharedState {
    /// Pins procedures and serves the tools that they name through the gate. Returns warnings for the operator.
    pub(crate) async fn pin(
        &self,
        procedures: Vec<PinnedProcedure>,
        terms: PinOptions,
    ) -> Result<Vec<String>, String> {
        for (at, one) in procedures.iter().enumerate() {
            if procedures[..at].iter().any(|it| it.name() == one.name()) {
                return Err(format!(
                    "two pinned procedures are named `{}`: change the `agent` of one of them",
                    one.name()
                ));
            }
        }
        let told = self.serve_gated_tools(&procedures).await;
        let pins = PinnedProcedures {
            procedures: procedures.iter().map(|it| it.name().clone()).collect(),
            exempt_tools: terms.ungated,
            enforces: procedures.iter().any(PinnedProcedure::enforces),
            reserved: procedures
                .iter()
                .filter(|it| it.enforces())
                .map(PinnedProcedure::reserved_tools)
                .collect(),
            sessions_max: terms.sessions_max,
        };
        self.engine.pin(pins).map_err(|fault| fault.to_string())?;
        for procedure in &procedures {
            self.toolset_state.sop.list_procedure(&procedure.sops[0]);
        }
        self.toolset_state.sop.pin(procedures);
        Ok(told)
    }
}

impl Server {
    /// Pins procedures: only these can be loaded, the downstream tools that they name are served through the
    /// gate, and everything agents start here passes the gate. Returns warnings for the operator.
    pub async fn pin_procedures(
        &self,
        procedures: Vec<PinnedProcedure>,
        terms: PinOptions,
    ) -> Result<Vec<String>, String> {
        let told = self.0.pin(procedures, terms).await?;
        self.0.announce_changes();
        Ok(told)
    }

    /// Reads a procedure to be pinned, from the allowed roots or an https address. Returns its warnings too.
    pub async fn read_procedure(
        &self,
        place: &str,
    ) -> Result<(PinnedProcedure, Vec<String>), String> {
        read_procedure(&self.0.engine, place).await
    }
}
