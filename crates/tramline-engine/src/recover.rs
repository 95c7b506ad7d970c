//! Unfinished runs go on: at start-up, a process takes over what no living process drives.

use crate::engine::{Engine, Handle};
use crate::fault::Fault;
use crate::seams::{RunFilter, Status};
use tramline_core::ids::RunId;
use tramline_core::run::Run;

/// At most so many runs are taken over at once; the rest when these are done or by hand.
const TAKEN_MAX: usize = 10_000;

/// What taking over came to.
#[derive(Default)]
pub struct Recovered {
    /// The runs that are driven here now.
    pub driven: Vec<Handle>,
    /// The runs that could not be taken over, with why.
    pub left: Vec<(RunId, Fault)>,
}

impl Engine {
    /// Takes over every run that was under way, is driven by nobody, and is `ours` to drive: whose
    /// servers are not known here would only fail here. Paused runs stay paused.
    pub async fn recover(&self, ours: impl Fn(&Run) -> bool) -> Result<Recovered, Fault> {
        let filter = RunFilter {
            status: vec![Status::Running],
            most: TAKEN_MAX,
            ..RunFilter::default()
        };
        let mut recovered = Recovered::default();
        for row in self.runs(filter).await?.rows {
            if row.driven {
                continue;
            }
            match self.load(&row.run).await {
                Ok(loaded) if ours(&loaded.run) => {}
                Ok(_) => continue,
                Err(fault) => {
                    recovered.left.push((row.run, fault));
                    continue;
                }
            }
            match self.resume(&row.run).await {
                Ok(handle) => recovered.driven.push(handle),
                // Another process was quicker, or it ended meanwhile: nothing to do.
                Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => {}
                Err(fault) => recovered.left.push((row.run, fault)),
            }
        }
        Ok(recovered)
    }
}
