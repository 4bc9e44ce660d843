//! The connection to a server: opened by the first use, and again after it was lost. The first write creates the tables that are missing;
//! for reads, a missing table is an empty one, so that a user without the right to create tables can read.

use std::{
    error::Error as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Mutex;
use tokio_postgres::{
    Client, Row,
    error::SqlState,
    types::{FromSql, ToSql, Type},
};

use super::{
    address::Address,
    connection::{Attempt, Connection},
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
    store::{
        REQUEST_TIMEOUT,
        credentials::{Credential, Credentials},
    },
};

/// How often a statement is sent at most, over another connection each time.
pub(super) const MAX_ATTEMPTS: usize = 4;

/// The pauses between attempts to connect.
const CONNECT_PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

/// The time after which a connection counts as lost whose peer has not acknowledged what it was sent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of the lock under which tables are created.
const CREATION_LOCK: i64 = 0x5354_4143_4b57_5249;

/// A value of a statement, with its type.
pub(super) type Parameter<'value> = (&'value (dyn ToSql + Sync), Type);

/// What a statement that writes has done.
#[derive(Debug)]
pub(super) enum Change {
    /// It has affected this many rows.
    Rows(u64),
    /// The connection was lost meanwhile.
    Unknown,
    /// The server has not answered within the limit. It may still do the statement, which is not repeated.
    Unanswered,
}

/// The connection of a store.
#[derive(Default)]
struct Current {
    connection: Option<Arc<Connection>>,
    /// Whether the server has answered the last attempt to connect. Otherwise silence fails the next one at once.
    has_answered: bool,
    /// The end of the last attempt to connect that the server has not answered, and the limit of the attempt.
    unanswered: Option<(Duration, Duration)>,
}

/// A database and the connection to it.
pub(super) struct Server {
    address: Address,
    /// The tables' names as identifiers.
    table: String,
    journals: String,
    leases: String,
    credentials: Credentials,
    runtime: Runtime,
    current: Mutex<Current>,
    /// Whether all tables are there.
    has_tables: AtomicBool,
}

impl Server {
    pub(super) fn new(address: Address, credentials: Credentials, runtime: Runtime) -> Self {
        Self {
            table: identifier(&address.table),
            journals: identifier(&format!("{}_stackwright_journal", address.table)),
            leases: identifier(&format!("{}_stackwright_leases", address.table)),
            address,
            credentials,
            runtime,
            current: Mutex::default(),
            has_tables: AtomicBool::new(false),
        }
    }

    /// Returns the table's name as an identifier.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// Returns the name of the table of journals as an identifier.
    pub(super) fn journals(&self) -> &str {
        &self.journals
    }

    /// Returns the name of the table of leases as an identifier.
    pub(super) fn leases(&self) -> &str {
        &self.leases
    }

    pub(super) fn url(&self) -> &str {
        &self.address.url
    }

    /// Returns a column of a row.
    pub(super) fn column<'row, T: FromSql<'row>>(&self, row: &'row Row, index: usize) -> Result<T> {
        row.try_get(index).map_err(|error| {
            Error::new(
                ErrorKind::State,
                format!(
                    "a row of {} has an unexpected form: {}",
                    self.url(),
                    reason(&error)
                ),
            )
        })
    }

    /// Runs a statement that changes nothing, on one table.
    pub(super) async fn read(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        action: &str,
    ) -> Result<Vec<Row>> {
        for _ in 0..MAX_ATTEMPTS {
            let client = self.client(action).await?;
            match self.bounded(client.query_typed(text, parameters)).await {
                Some(Ok(rows)) => return Ok(rows),
                Some(Err(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(Vec::new()),
                Some(Err(error)) if !is_loss(&error) => return Err(self.failed(&error, action)),
                Some(Err(_)) => self.forget(&client).await,
                None => {
                    self.discard(&client).await;
                    return Err(self.unanswered(action));
                }
            }
        }
        Err(self.lost(action))
    }

    /// Runs a statement that writes, once.
    pub(super) async fn change(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        action: &str,
    ) -> Result<Change> {
        let client = self.writing_client(action).await?;
        match self.bounded(client.execute_typed(text, parameters)).await {
            Some(Ok(rows)) => Ok(Change::Rows(rows)),
            Some(Err(error)) if !is_loss(&error) => Err(self.failed(&error, action)),
            Some(Err(_)) => {
                self.forget(&client).await;
                Ok(Change::Unknown)
            }
            None => {
                self.discard(&client).await;
                Ok(Change::Unanswered)
            }
        }
    }

    /// Runs a statement that writes and may be repeated.
    pub(super) async fn repeat(&self, text: &str, parameters: &[Parameter<'_>], action: &str) -> Result<u64> {
        for _ in 0..MAX_ATTEMPTS {
            match self.change(text, parameters, action).await? {
                Change::Rows(rows) => return Ok(rows),
                Change::Unknown => {}
                Change::Unanswered => return Err(self.unanswered(action)),
            }
        }
        Err(self.lost(action))
    }

    /// The error of a statement whose connections were lost.
    pub(super) fn lost(&self, action: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "cannot {action} in {}: the connection was lost {MAX_ATTEMPTS} times",
                self.url()
            ),
        )
    }

    /// The error of a statement that the server has not answered.
    pub(super) fn unanswered(&self, action: &str) -> Error {
        self.silent(action, REQUEST_TIMEOUT, "no answer")
    }

    fn silent(&self, action: &str, limit: Duration, missing: &str) -> Error {
        let limit = limit.as_secs();
        let text = format!("cannot {action} in {}: {missing} within {limit} s", self.url());
        Error::new(ErrorKind::Unavailable, text)
    }

    fn silent_login(&self, action: &str, limit: Duration) -> Error {
        self.silent(action, limit, "the server has not completed the login")
            .with_hint(
                "check that the server runs and that host and port are its own; connect_timeout in the URL of the store is the limit",
            )
    }

    /// Returns the connection, opened if there is none.
    async fn client(&self, action: &str) -> Result<Arc<Connection>> {
        let begin = self.runtime.clock.elapsed();
        let mut current = self.current.lock().await;
        if let Some(client) = current.connection.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        current.connection = None;
        // Those who have waited for an attempt share its end.
        if let Some((_, limit)) = current.unanswered.filter(|(end, _)| *end > begin) {
            return Err(self.silent_login(action, limit));
        }
        let client = self.connect(action, &mut current).await?;
        current.connection = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Returns the connection after the tables were created that are missing.
    async fn writing_client(&self, action: &str) -> Result<Arc<Connection>> {
        for _ in 0..MAX_ATTEMPTS {
            let client = self.client(action).await?;
            if self.has_tables.load(Ordering::SeqCst) {
                return Ok(client);
            }
            match self.bounded(self.create_tables(&client)).await {
                Some(Ok(())) => {
                    self.has_tables.store(true, Ordering::SeqCst);
                    return Ok(client);
                }
                Some(Err(error)) if !is_loss(&error) => return Err(self.failed(&error, "create the tables")),
                Some(Err(_)) => self.forget(&client).await,
                None => {
                    self.discard(&client).await;
                    return Err(self.unanswered("create the tables"));
                }
            }
        }
        Err(self.lost(action))
    }

    /// Gives up a connection: the next statement opens another one.
    async fn forget(&self, lost: &Arc<Connection>) {
        tracing::warn!(url = self.url(), "the connection to the database was lost");
        let mut current = self.current.lock().await;
        current
            .connection
            .take_if(|connection| Arc::ptr_eq(connection, lost));
    }

    /// Gives up a connection whose server does not answer, and closes it.
    async fn discard(&self, silent: &Arc<Connection>) {
        silent.discard();
        self.forget(silent).await;
    }

    /// Opens a connection: again after a failure that may pass, and after silence when the server has answered before.
    async fn connect(&self, action: &str, current: &mut Current) -> Result<Arc<Connection>> {
        let mut config = self.address.config.clone();
        config.tcp_user_timeout(SILENCE_TIMEOUT);
        config.keepalives_idle(SILENCE_TIMEOUT);
        if let Some(password) = self.password().await? {
            config.password(password);
        }
        let mut pauses = CONNECT_PAUSES.iter();
        loop {
            let attempt = Connection::open(config.clone(), self.address.tls.clone(), &self.runtime).await?;
            let failure = match attempt {
                Attempt::Connected(connection) => {
                    current.has_answered = true;
                    return Ok(connection);
                }
                Attempt::Failed(error) if !is_loss(&error) => return Err(self.failed(&error, action)),
                Attempt::Failed(error) => self.failed(&error, action),
                Attempt::Silent(limit) => {
                    current.unanswered = Some((self.runtime.clock.elapsed(), limit));
                    let failure = self.silent_login(action, limit);
                    if !current.has_answered {
                        return Err(failure);
                    }
                    failure
                }
            };
            match pauses.next() {
                Some(pause) => self.runtime.clock.wait(*pause).await,
                None => {
                    current.has_answered = false;
                    return Err(failure);
                }
            }
        }
    }

    /// Returns the password where it is not that of the URL.
    async fn password(&self) -> Result<Option<String>> {
        let credential = match &self.credentials {
            Credentials::None => return Ok(None),
            Credentials::Given(credential) => credential.clone(),
            Credentials::Callback(source) => source.credential().await?.0,
            Credentials::Environment(_) => {
                let password = self.credentials.variable("PGPASSWORD");
                let password = password.filter(|_| self.address.config.get_password().is_none());
                return Ok(password.map(str::to_owned));
            }
        };
        match credential {
            Credential::Password(password) => Ok(Some(password)),
            other => Err(other.unsuitable("postgres", "a password")),
        }
    }

    /// Creates the tables that are missing. A user who may not create some needs no right to when there are all.
    async fn create_tables(&self, client: &Client) -> std::result::Result<(), tokio_postgres::Error> {
        let tables = [&self.table, &self.journals, &self.leases];
        let parameters = tables.map(|table| -> Parameter<'_> { (table, Type::TEXT) });
        let text = "SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL AND to_regclass($3) IS NOT NULL";
        let present = client.query_typed(text, &parameters).await?;
        if present.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
            return Ok(());
        }
        let objects = |table: &str, name: &str| {
            let index = identifier(&format!("{name}_key_prefix_idx"));
            format!(
                "CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, data JSON NOT NULL, \
                 updated_at TIMESTAMPTZ NOT NULL DEFAULT now()); \
                 CREATE INDEX IF NOT EXISTS {index} ON {table} (key text_pattern_ops);"
            )
        };
        // The statements are one transaction. Two creators at once would fail without the lock.
        let text = format!(
            "SELECT pg_advisory_xact_lock({CREATION_LOCK}); {} {} \
             CREATE TABLE IF NOT EXISTS {} (name TEXT PRIMARY KEY, mark TEXT NOT NULL, record TEXT NOT NULL);",
            objects(&self.table, &self.address.table),
            objects(&self.journals, &format!("{}_journal", self.address.table)),
            self.leases
        );
        client.batch_execute(&text).await
    }

    /// Waits for the server no longer than [`REQUEST_TIMEOUT`].
    async fn bounded<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            output = work => Some(output),
            () = self.runtime.clock.wait(REQUEST_TIMEOUT) => None,
        }
    }

    fn failed(&self, error: &tokio_postgres::Error, action: &str) -> Error {
        let text = format!("cannot {action} in {}: {}", self.url(), reason(error));
        let failed = Error::new(ErrorKind::Unavailable, text);
        match error.code() {
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => failed.with_hint(
                "the database's user needs the rights to read and write the table, and once to create it",
            ),
            Some(code)
                if [
                    SqlState::INVALID_PASSWORD,
                    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                ]
                .contains(code) =>
            {
                failed.with_hint("check the user and the password of the store's URL or credentials")
            }
            _ if reason(error).contains("does not support TLS") => {
                failed.with_hint("add sslmode=disable to the URL of the store for a server without TLS")
            }
            _ => failed,
        }
    }
}

/// Returns whether an error means that the connection has ended, or that the server asks for another attempt.
fn is_loss(error: &tokio_postgres::Error) -> bool {
    const CONNECTION: &str = "08";
    const SHUTDOWN: [SqlState; 3] = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
    ];
    const CONTENTION: [SqlState; 2] = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    match error.code() {
        Some(code) => {
            code.code().starts_with(CONNECTION) || SHUTDOWN.contains(code) || CONTENTION.contains(code)
        }
        None => error.is_closed() || io_cause(error),
    }
}

fn io_cause(error: &tokio_postgres::Error) -> bool {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let mut io = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    // TLS reports a certificate that is refused as invalid data.
    io.any(|error| error.kind() != std::io::ErrorKind::InvalidData)
}

/// Describes an error: the server's own message, or the innermost cause.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    causes
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
