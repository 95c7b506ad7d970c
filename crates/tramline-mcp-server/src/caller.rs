//! The caller of a request: the name of its token, and the runs it may see.
//!
//! Without named tokens there is one owner: the user of this machine. A run that belongs to another name, or
//! was started with a `session_id` that the caller does not give, is reported as not found.

use crate::trace_context;
use rmcp::service::{RequestContext, RoleServer};
use tramline_engine::{Engine, Fault, LoadedRun, RunStart};
use tramline_expr::Str;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// Characters of a client's name that are stored. Clients choose their names, and each run records one.
const CLIENT_NAME_CHARS_MAX: usize = 100;

/// The name that the client of a request gives itself.
pub(super) fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let name = context.client_info()?.name;
    let name: String = name.chars().take(CLIENT_NAME_CHARS_MAX).collect();
    (!name.is_empty()).then_some(name)
}

/// The caller of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Caller {
    /// The name of its token; `None` if there are no named tokens.
    pub(super) name: Option<Str>,
    /// The answer channel of its token, if the token belongs to a person.
    pub(super) person: Option<AnswerChannel>,
}

impl Caller {
    /// The caller of a request.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let admitted = parts.and_then(|parts| parts.extensions.get::<Self>());
        admitted.cloned().unwrap_or_default()
    }

    /// Its name in the journal.
    pub(super) fn journal_name(&self, context: &RequestContext<RoleServer>) -> Str {
        if let Some(name) = &self.name {
            return name.clone();
        }
        client_name(context).map_or_else(|| "agent".into(), |name| format!("agent {name}").into())
    }

    /// Records in a new run who asked for it.
    pub(super) fn sign(start: &mut RunStart, context: &RequestContext<RoleServer>) {
        let caller = Self::of(context);
        start.by = Some(caller.journal_name(context));
        start.owner = caller.name;
        start.upstream = trace_context::from_request(context);
    }

    /// Whether it may see a run.
    pub(super) fn may_see(&self, run: &Run, session: Option<&str>) -> bool {
        let started = &run.started;
        let same_session = started.session.is_none() || started.session.as_deref() == session;
        started.owner == self.name && same_session
    }

    /// Loads a run with its journal, if the caller may see it.
    pub(super) async fn load_run(
        &self,
        engine: &Engine,
        id: &RunId,
        session: Option<&str>,
    ) -> Result<LoadedRun, Fault> {
        let loaded = engine.load(id).await?;
        if self.may_see(&loaded.run, session) {
            Ok(loaded)
        } else {
            Err(Fault::NotFound(id.clone()))
        }
    }
}
