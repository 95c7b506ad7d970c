//! Who calls: the name that a token stands for, and whose runs it may see.
//!
//! Without names there is one owner: whoever sits at this machine. A run that belongs to another
//! name, or was started with a `session_id` that the caller does not give, reads as no run at all.

use rmcp::service::{RequestContext, RoleServer};
use tramline_core::Str;
use tramline_core::authority::AnswerChannel;
use tramline_core::ids::RunId;
use tramline_core::run::Run;
use tramline_engine::{Engine, Fault, Loaded};

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Caller {
    /// What its token stands for; nothing where there are no names.
    pub(super) name: Option<Str>,
    /// The channel that its token makes of it, where the token stands for a person.
    pub(super) person: Option<AnswerChannel>,
}

impl Caller {
    /// The caller of a request.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let admitted = parts.and_then(|parts| parts.extensions.get::<Self>());
        admitted.cloned().unwrap_or_default()
    }

    /// Who it is, in a journal.
    pub(super) fn by(&self, context: &RequestContext<RoleServer>) -> Str {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let client = context.client_info().map(|client| client.name);
        let client = client.filter(|name| !name.is_empty());
        client.map_or_else(|| "agent".into(), |name| format!("agent {name}").into())
    }

    /// Whether a run is one that it may see.
    pub(super) fn sees(&self, run: &Run, session: Option<&str>) -> bool {
        let started = &run.started;
        let same_session = started.session.is_none() || started.session.as_deref() == session;
        started.owner == self.name && same_session
    }

    /// A run of its own, with its journal.
    pub(super) async fn load(
        &self,
        engine: &Engine,
        id: &RunId,
        session: Option<&str>,
    ) -> Result<Loaded, Fault> {
        let loaded = engine.load(id).await?;
        if self.sees(&loaded.run, session) {
            Ok(loaded)
        } else {
            Err(Fault::NotFound(id.clone()))
        }
    }
}
