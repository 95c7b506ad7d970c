//! A connection that is made again when it breaks.

use crate::store_url::StoreUrl;
use crate::tls::Tls;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Notification, Row};
use tramline_engine::ports::StoreFault;

/// How long statements are tried again while the database cannot be reached: longer than a restart or a fail-over.
pub(crate) const OUTAGE_MAX: Duration = Duration::from_secs(60);
/// The shortest delay between two attempts.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(10);
/// The longest delay between two attempts.
const RETRY_DELAY_MAX: Duration = Duration::from_millis(250);
/// How long a login may take, with all hosts that are tried.
const LOGIN_MAX: Duration = Duration::from_secs(15);
/// How long a statement may take before its connection counts as broken.
const STATEMENT_MAX: Duration = Duration::from_secs(30);

/// A statement's parameters with their types: nothing is prepared, so the server is not asked for them.
pub(crate) type Params<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// Why a statement failed.
#[derive(Clone, Debug)]
pub(crate) enum StatementError {
    /// It lost against a concurrent one and was not made; it may be tried again.
    Again,
    /// Its connection broke: it may have been made.
    Lost(String),
    /// The server refused it.
    Refused(String),
}

impl StatementError {
    fn of(error: &tokio_postgres::Error) -> Self {
        let Some(db) = error.as_db_error() else {
            let source = std::error::Error::source(error);
            let why = source.map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
            return match error.is_closed() || source.is_some_and(|it| it.is::<std::io::Error>()) {
                true => Self::Lost(why),
                false => Self::Refused(why),
            };
        };
        let code = db.code();
        let why = format!("{} ({})", db.message(), code.code());
        if [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(code)
        {
            return Self::Again;
        }
        // Connection exceptions, shutdowns, a server that has become a standby, and a pooler without a server.
        let gone = code.code().starts_with("08")
            || code.code().starts_with("57P")
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION
            || *code == SqlState::TOO_MANY_CONNECTIONS;
        match gone {
            true => Self::Lost(why),
            false => Self::Refused(why),
        }
    }
}

impl From<StatementError> for StoreFault {
    fn from(error: StatementError) -> Self {
        let message = match error {
            StatementError::Again => {
                "the database is busy with conflicting writes; try again".to_owned()
            }
            StatementError::Lost(why) => format!(
                "the database cannot be reached: {why}; check that PostgreSQL runs and the address in --store is right"
            ),
            StatementError::Refused(why) => format!("the database refused a statement: {why}"),
        };
        Self { message }
    }
}

/// Where and how connections are made.
pub(crate) struct Connector {
    pub(crate) url: StoreUrl,
    tls: Tls,
    handle: Handle,
}

impl Connector {
    pub(crate) fn new(url: StoreUrl, handle: Handle) -> Result<Self, StoreFault> {
        let tls = Tls::new(&url.encryption).map_err(|message| StoreFault { message })?;
        Ok(Self { url, tls, handle })
    }

    /// A new connection. What the server sends without being asked goes to `heard`.
    async fn connect(
        self: &Arc<Self>,
        heard: impl Fn(Notification) + Send + 'static,
    ) -> Result<Client, StatementError> {
        let this = Arc::clone(self);
        // Its socket belongs to the runtime of our thread, whichever task asks for it.
        let connecting = self.handle.spawn(async move {
            let connecting = this.url.config.connect(this.tls.clone());
            let connected = tokio::time::timeout(LOGIN_MAX, connecting).await;
            let connected =
                connected.map_err(|_| StatementError::Lost("no answer to the login".into()))?;
            let (client, mut connection) = connected.map_err(|error| StatementError::of(&error))?;
            tokio::spawn(async move {
                loop {
                    let next = std::future::poll_fn(|cx| connection.poll_message(cx)).await;
                    match next {
                        Some(Ok(AsyncMessage::Notification(notification))) => heard(notification),
                        Some(Ok(_)) => {}
                        Some(Err(_)) | None => return,
                    }
                }
            });
            Ok(client)
        });
        let ended = |_| StatementError::Lost("the store was closed".into());
        connecting.await.map_err(ended)?
    }
}

type NoticeHandler = Arc<dyn Fn(Notification) + Send + Sync>;

/// One connection, made when it is first used and again when it has broken.
pub(crate) struct Link {
    connector: Arc<Connector>,
    client: Mutex<Option<Arc<Client>>>,
    heard: Option<NoticeHandler>,
}

impl Link {
    pub(crate) fn new(connector: &Arc<Connector>) -> Self {
        Self {
            connector: Arc::clone(connector),
            client: Mutex::new(None),
            heard: None,
        }
    }

    /// A connection whose notifications are passed on.
    pub(crate) fn hearing(
        connector: &Arc<Connector>,
        heard: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Self {
        Self {
            heard: Some(Arc::new(heard)),
            ..Self::new(connector)
        }
    }

    /// The connection, and whether it is a new one.
    pub(crate) async fn client(&self) -> Result<(Arc<Client>, bool), StatementError> {
        let mut client = self.client.lock().await;
        if let Some(open) = client.as_ref().filter(|open| !open.is_closed()) {
            return Ok((Arc::clone(open), false));
        }
        *client = None;
        let heard = self.heard.clone();
        let heard = move |said| {
            if let Some(heard) = &heard {
                heard(said);
            }
        };
        let opened = Arc::new(self.connector.connect(heard).await?);
        *client = Some(Arc::clone(&opened));
        Ok((opened, true))
    }

    /// Executes a statement once.
    pub(crate) async fn once(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StatementError> {
        self.once_within(STATEMENT_MAX, sql, params).await
    }

    /// Executes a statement once, within a time.
    pub(crate) async fn once_within(
        &self,
        most: Duration,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StatementError> {
        let work = async {
            let (client, _) = self.client().await?;
            let done = client.query_typed(sql, params).await;
            done.map_err(|error| StatementError::of(&error))
        };
        let done = match tokio::time::timeout(most, work).await {
            Ok(done) => done,
            Err(_) => Err(StatementError::Lost(format!(
                "no answer within {} ms",
                most.as_millis()
            ))),
        };
        if let Err(StatementError::Lost(_)) = &done {
            self.drop_client().await;
        }
        done
    }

    /// Executes a statement that may be executed twice, until the database answers.
    pub(crate) async fn repeat(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StatementError> {
        let mut patience = RetryDelays::new();
        loop {
            match self.once(sql, params).await {
                Err(error) => patience.wait(error).await?,
                done => return done,
            }
        }
    }

    /// Makes the connection again with the next statement.
    pub(crate) async fn drop_client(&self) {
        *self.client.lock().await = None;
    }
}

/// How long failed statements are tried again.
pub(crate) struct RetryDelays {
    began: Instant,
    most: Duration,
    delay: Duration,
}

impl RetryDelays {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            most: OUTAGE_MAX,
            delay: RETRY_DELAY_MIN,
        }
    }

    /// Tries again for this long only.
    pub(crate) fn within(most: Duration) -> Self {
        Self {
            most,
            ..Self::new()
        }
    }

    /// Waits before the next attempt, or fails if there is none.
    pub(crate) async fn wait(&mut self, error: StatementError) -> Result<(), StatementError> {
        match error {
            StatementError::Refused(_) => return Err(error),
            StatementError::Again | StatementError::Lost(_)
                if self.began.elapsed() >= self.most =>
            {
                return Err(error);
            }
            StatementError::Again | StatementError::Lost(_) => {}
        }
        tokio::time::sleep(self.delay).await;
        self.delay = (self.delay * 2).min(RETRY_DELAY_MAX);
        Ok(())
    }
}
