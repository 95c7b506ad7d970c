//! The procedures that the operator pinned: the only ones that can be loaded, as they were read at
//! the start.

use super::load::Loaded;
use crate::server::Shared;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use tramline_core::ids::RunId;
use tramline_core::journal::Guided;
use tramline_core::navigate::{Procedure, Unmet, Walk};
use tramline_core::sop::{Mode, Sop};
use tramline_core::{Str, Value};
use tramline_engine::{Pattern, Pins};

/// A procedure that the operator pins, with those that it leads into.
#[derive(Clone, Debug)]
pub struct PinnedProcedure {
    /// Where it is, as the operator wrote it.
    pub place: String,
    /// The procedure, and after it those that its nodes lead into.
    pub sops: Vec<Arc<Sop>>,
    /// By what nodes name the second and later ones.
    pub files: Vec<Str>,
    /// Where each of them was read, whole; empty for what came from an address.
    pub paths: Vec<PathBuf>,
}

/// How pinned procedures are held.
#[derive(Clone, Debug)]
pub struct PinTerms {
    /// The tools that are called without the gate.
    pub free: Vec<Pattern>,
    /// How many conversations a caller may have along one procedure at a time.
    pub conversations_max: usize,
}

impl Default for PinTerms {
    fn default() -> Self {
        Self {
            free: Vec::new(),
            // A second one could rest where something may be written while the talk goes on elsewhere.
            conversations_max: 1,
        }
    }
}

impl PinnedProcedure {
    /// Its name.
    pub fn name(&self) -> &Str {
        &self.sops[0].name
    }

    /// Whether it refuses calls that it does not allow.
    pub fn enforces(&self) -> bool {
        let sop = &self.sops[0];
        sop.gated && sop.call_mode() == Mode::Strict
    }

    /// Which of its procedures a caller means, by name or by path.
    fn find(&self, asked: &str) -> Option<usize> {
        if asked == self.place {
            return Some(0);
        }
        let by_name = self.sops.iter().position(|sop| sop.name == asked);
        by_name.or_else(|| self.paths.iter().position(|path| is_same(path, asked)))
    }

    /// One of its procedures, to be walked by itself, with the others that it may lead into.
    fn loaded(&self, at: usize) -> Loaded {
        let others = (1..self.sops.len()).filter(|other| *other != at);
        let (mut sops, mut files) = (vec![Arc::clone(&self.sops[at])], Vec::new());
        for other in others {
            sops.push(Arc::clone(&self.sops[other]));
            files.push(self.files[other - 1].clone());
        }
        Loaded {
            sops,
            files,
            warnings: Vec::new(),
        }
    }

    /// What beginning at a procedure inside would skip.
    fn skipped(&self, at: usize) -> Result<Vec<Unmet>, String> {
        let begun = Guided {
            sops: self.sops.clone(),
            files: self.files.clone(),
            session: None,
            by: "pin".into(),
            origin: Value::Null,
            owner: None,
            ttl_ms: None,
            pinned: None,
        };
        let built = self.sops.iter();
        let built = built.map(|sop| Procedure::build(Arc::clone(sop)).map(Arc::new));
        let built = built.collect::<Result<_, String>>()?;
        let walk = Walk::begin(RunId::new(0, 0), built, begun, 0);
        let walk = walk.map_err(|illegal| illegal.to_string())?;
        Ok(walk.before_procedure(at as u32))
    }
}

/// Whether a path means a file: it leads to it from here, or is the end of its whole path. Nothing
/// else than what was pinned is ever read, so a likeness does no harm.
fn is_same(pinned: &Path, asked: &str) -> bool {
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

/// The pinned procedure that a caller named, or why it cannot be loaded.
pub(super) enum PinnedLookup {
    /// This one, by the name of the pinned procedure that it is or belongs to.
    Found(Str, Loaded),
    /// None that can be loaded: this is why.
    Refused(String),
}

/// Finds the procedure that a caller names. Where one is pinned, it is the default.
pub(super) fn find(pinned: &[PinnedProcedure], asked: Option<&str>) -> PinnedLookup {
    let names = || {
        let names: Vec<&str> = pinned.iter().map(|it| it.name().as_str()).collect();
        names.join(", ")
    };
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else {
        return match pinned {
            [only] => PinnedLookup::Found(only.name().clone(), only.loaded(0)),
            _ => PinnedLookup::Refused(format!("sop_file is missing: it is one of {}", names())),
        };
    };
    let found = pinned.iter().find_map(|it| Some((it, it.find(asked)?)));
    let Some((procedure, at)) = found else {
        return PinnedLookup::Refused(format!(
            "`{}` is not pinned: the operator lets only these procedures be loaded: {}",
            tramline_core::text::shown(asked),
            names()
        ));
    };
    if at > 0 {
        match procedure.skipped(at) {
            Ok(unmet) if unmet.is_empty() => {}
            Ok(unmet) => {
                let nodes: Vec<&str> = unmet.iter().map(|it| it.node.as_str()).collect();
                return PinnedLookup::Refused(format!(
                    "{} is a part of {} and is reached there after {}: load {}",
                    procedure.sops[at].name,
                    procedure.name(),
                    nodes.join(", "),
                    procedure.name()
                ));
            }
            Err(message) => return PinnedLookup::Refused(message),
        }
    }
    PinnedLookup::Found(procedure.name().clone(), procedure.loaded(at))
}

impl Shared {
    /// Pins procedures, and offers the tools that they name through the gate. Gives what the operator
    /// should hear.
    pub(in super::super) async fn pin(
        &self,
        procedures: Vec<PinnedProcedure>,
        terms: PinTerms,
    ) -> Result<Vec<String>, String> {
        for (at, one) in procedures.iter().enumerate() {
            if procedures[..at].iter().any(|it| it.name() == one.name()) {
                return Err(format!(
                    "two pinned procedures are called `{}`: give one of them another `agent`",
                    one.name()
                ));
            }
        }
        let told = self.offer_tools(&procedures).await;
        let pins = Pins {
            procedures: procedures.iter().map(|it| it.name().clone()).collect(),
            free: terms.free,
            enforces: procedures.iter().any(PinnedProcedure::enforces),
            conversations_max: terms.conversations_max,
        };
        self.engine.pin(pins).map_err(|fault| fault.to_string())?;
        for procedure in &procedures {
            self.seats.know(&procedure.sops[0]);
        }
        self.seats.pin(procedures);
        Ok(told)
    }
}
