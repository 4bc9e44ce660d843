//! PostgreSQL: the objects in the reference engine's table. What that table has no column for lies in tables beside it.

mod address;
mod connection;
mod encoding;
mod fence;
mod server;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use self::{
    address::Address,
    encoding::{decode, encode, version_of},
    fence::{LeaseTable, Parameters},
    server::{Change, Server},
};
use super::{
    Condition, HostFacts, LockGuard, LockOwner, LockPurpose, Object, ObjectInfo, Store, StoreSettings,
    Version, changed, check_key, layout::JOURNALS, lease::Leases, not_found,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Runtime, Timestamp},
};

/// The version of a row, computed by the server: the hash of its data as text, which is kept as it was written.
const VERSION: &str = "encode(sha256(convert_to(data::text, 'UTF8')), 'hex')";

/// The size of a row's stored form, for which the content need not be read, and that of a content in base64, up to its padding, which
/// the ends of journals do not have.
const STORED_SIZE: &str = "pg_column_size(data)::bigint";
const CONTENT_SIZE: &str = "((octet_length(data::text) - 11) / 4 * 3)::bigint";

/// The last character: after all keys with a prefix.
const LAST: char = '\u{10FFFF}';

/// A database of PostgreSQL.
pub(super) struct PostgresStore {
    server: Arc<Server>,
    leases: Leases,
}

impl PostgresStore {
    /// Opens the store of a URL. The connection is made by the first use.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the URL or the credentials cannot be used.
    pub(super) fn open(url: &str, settings: &StoreSettings, runtime: &Runtime) -> Result<Self> {
        let credentials = &settings.credentials;
        let lease = settings.lease()?;
        let address = Address::parse(url, credentials)?;
        let server = Arc::new(Server::new(address, credentials.clone(), runtime.clone()));
        let records = Arc::new(LeaseTable(Arc::clone(&server)));
        Ok(Self {
            server,
            leases: Leases::new(records, runtime.clone(), lease, &HostFacts::system()),
        })
    }

    /// Returns the table of an object: the reference engine's, but for journals.
    fn table_of(&self, key: &str) -> &str {
        match key.starts_with(JOURNALS) {
            true => self.server.journals(),
            false => self.server.table(),
        }
    }

    /// Returns the version of an object, without its content.
    async fn version(&self, key: &str) -> Result<Option<Version>> {
        let mut parameters = Parameters::default();
        let text = format!(
            "SELECT {VERSION} FROM {} WHERE key = {}",
            self.table_of(key),
            parameters.bind(&key)
        );
        let rows = self
            .server
            .read(&text, &parameters.values, &format!("read {key:?}"))
            .await?;
        rows.first()
            .map(|row| self.server.column::<&str>(row, 0).map(Version::from))
            .transpose()
    }

    /// Checks, after a statement that affected no row, whether that was because of the lease.
    async fn check_fence(&self, fence: Option<&(String, String)>) -> Result<()> {
        match fence {
            Some((name, mark)) if !fence::is_held(&self.server, name, mark).await? => {
                Err(self.leases.lose(name))
            }
            _ => Ok(()),
        }
    }

    /// Writes an object; the replaced one becomes `kept`. The condition, the lease and both writes are one statement, which
    /// affects no row when the condition does not hold or the lease was taken over.
    ///
    /// After a lost connection, or without an answer, it is not known whether the write was done; then the object shows it. A write without
    /// an answer may still be done later.
    async fn write(
        &self,
        key: &str,
        data: &str,
        condition: &Condition,
        kept: Option<&str>,
    ) -> Result<Version> {
        let fence = self.leases.check(key).await?;
        let written = version_of(data);
        let expected = match condition {
            Condition::Match(version) => &**version,
            Condition::Any | Condition::Absent => "",
        };
        let kept = kept.unwrap_or("");
        let mut parameters = Parameters::default();
        let write = Write {
            key: &key,
            data: &data,
            condition,
            expected: &expected,
            kept: (!kept.is_empty()).then_some((self.table_of(kept), &kept)),
            fence: fence.as_ref().map(|held| (self.server.leases(), held)),
        };
        let text = statement(self.table_of(key), &mut parameters, &write);
        let action = format!("write {key:?}");
        let mut is_repeated = false;
        for _ in 0..server::MAX_ATTEMPTS {
            match self.server.change(&text, &parameters.values, &action).await? {
                Change::Rows(0) if is_repeated && self.version(key).await?.as_ref() == Some(&written) => {
                    return Ok(written);
                }
                Change::Rows(0) => {
                    self.check_fence(fence.as_ref()).await?;
                    return Err(changed(key));
                }
                Change::Rows(_) => return Ok(written),
                Change::Unknown => {}
                Change::Unanswered => {
                    return match self.version(key).await? {
                        Some(version) if version == written => Ok(written),
                        _ => Err(self.server.unanswered(&action)),
                    };
                }
            }
            is_repeated = true;
            match (self.version(key).await?, condition) {
                (Some(version), _) if version == written => return Ok(written),
                (_, Condition::Any) | (None, Condition::Absent) => {}
                (Some(version), Condition::Match(expected)) if version == *expected => {}
                _ => return Err(changed(key)),
            }
        }
        Err(self.server.lost(&action))
    }

    /// Runs a statement that may be repeated. It ends with `WHERE` and its conditions, to which the lease is added.
    async fn repeat(
        &self,
        key: &str,
        mut parameters: Parameters<'_>,
        text: impl FnOnce(&str) -> String,
        action: &str,
    ) -> Result<u64> {
        let fence = self.leases.check(key).await?;
        let (held, holds) = match &fence {
            Some(held) => fence::clauses(self.server.leases(), held, &mut parameters),
            None => (String::new(), String::new()),
        };
        let with = if held.is_empty() {
            String::new()
        } else {
            format!("WITH {held} ")
        };
        let text = format!("{with}{}", text(&holds));
        let rows = self.server.repeat(&text, &parameters.values, action).await?;
        if rows == 0 {
            self.check_fence(fence.as_ref()).await?;
        }
        Ok(rows)
    }
}

/// The parts of a statement that writes an object.
struct Write<'value> {
    key: &'value &'value str,
    data: &'value &'value str,
    condition: &'value Condition,
    expected: &'value &'value str,
    /// The table and the key of the replaced object.
    kept: Option<(&'value str, &'value &'value str)>,
    /// The table of leases, and the lease.
    fence: Option<(&'value str, &'value (String, String))>,
}

fn statement<'value>(table: &str, parameters: &mut Parameters<'value>, write: &Write<'value>) -> String {
    const REPLACE: &str = "ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, updated_at = now()";
    let (key, data) = (parameters.bind(write.key), parameters.bind(write.data));
    let (held, holds) = match write.fence {
        Some((leases, held)) => fence::clauses(leases, held, parameters),
        None => (String::new(), String::new()),
    };
    let matches = match write.condition {
        Condition::Match(_) => format!(
            "key = {key} AND {VERSION} = {}{holds}",
            parameters.bind(write.expected)
        ),
        Condition::Any | Condition::Absent => format!("key = {key}{holds}"),
    };
    let copy = write.kept.map(|(copies, kept)| {
        format!(
            "kept AS (INSERT INTO {copies} (key, data, updated_at) \
             SELECT {}, data, now() FROM {table} WHERE {matches} {REPLACE})",
            parameters.bind(kept)
        )
    });
    let insert = format!(
        "INSERT INTO {table} (key, data, updated_at) SELECT {key}, {data}::json, now() WHERE TRUE{holds}"
    );
    let main = match (write.condition, &copy) {
        (Condition::Any, None) => format!("{insert} {REPLACE}"),
        (Condition::Absent, _) => format!("{insert} ON CONFLICT (key) DO NOTHING"),
        _ => format!("UPDATE {table} SET data = {data}::json, updated_at = now() WHERE {matches}"),
    };
    // The parts of a statement read the state from before it.
    let parts: Vec<String> = [held]
        .into_iter()
        .chain(copy)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        main
    } else {
        format!("WITH {} {main}", parts.join(", "))
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("url", &self.server.url())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn url(&self) -> String {
        self.server.url().to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        let mut parameters = Parameters::default();
        let text = format!(
            "SELECT data::text FROM {} WHERE key = {}",
            self.table_of(key),
            parameters.bind(&key)
        );
        let rows = self
            .server
            .read(&text, &parameters.values, &format!("read {key:?}"))
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let data = self.server.column::<&str>(row, 0)?;
        Ok(Some(Object {
            bytes: decode(key, data)?,
            version: version_of(data),
        }))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        check_key(key)?;
        self.write(key, &encode(&bytes), &condition, None).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        check_key(key)?;
        check_key(kept)?;
        if matches!(condition, Condition::Absent) {
            return Err(changed(key));
        }
        let is_any = matches!(condition, Condition::Any);
        match self.write(key, &encode(&bytes), &condition, Some(kept)).await {
            Err(error)
                if is_any && error.kind() == ErrorKind::Conflict && self.version(key).await?.is_none() =>
            {
                Err(not_found(key))
            }
            written => written,
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let end = format!("{prefix}{LAST}");
        let mut parameters = Parameters::default();
        let (begin, end) = (parameters.bind(&prefix), parameters.bind(&end));
        // These operators use the index of the reference engine's table with any prefix.
        let rows_of = |table: &str, size: &str| {
            format!(
                "SELECT key, {size}, (extract(epoch FROM updated_at) * 1000000)::bigint \
                 FROM {table} WHERE key ~>=~ {begin} AND key ~<~ {end} ORDER BY key COLLATE \"C\""
            )
        };
        let parts: Vec<String> = [
            (!prefix.starts_with(JOURNALS)).then(|| rows_of(self.server.table(), STORED_SIZE)),
            (prefix.starts_with(JOURNALS) || JOURNALS.starts_with(prefix))
                .then(|| rows_of(self.server.journals(), CONTENT_SIZE)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let action = format!("list the objects of {prefix:?}");
        let reads = parts
            .iter()
            .map(|text| self.server.read(text, &parameters.values, &action));
        let rows = futures::future::try_join_all(reads).await?;
        let listed: Result<Vec<ObjectInfo>> = rows
            .iter()
            .flatten()
            .map(|row| {
                let modified = Timestamp::from_microsecond(self.server.column::<i64>(row, 2)?)
                    .map_err(|error| Error::internal(format!("the time of a row: {error}")))?;
                Ok(ObjectInfo {
                    key: self.server.column::<String>(row, 0)?,
                    size: u64::try_from(self.server.column::<i64>(row, 1)?).unwrap_or(0),
                    modified,
                })
            })
            .collect();
        let mut listed = listed?;
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(listed)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        check_key(key)?;
        let mut parameters = Parameters::default();
        let (table, bound) = (self.table_of(key), parameters.bind(&key));
        let text = |holds: &str| format!("DELETE FROM {table} WHERE key = {bound}{holds}");
        self.repeat(key, parameters, text, &format!("remove {key:?}"))
            .await?;
        Ok(())
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        check_key(key)?;
        let expected = &**version;
        let mut parameters = Parameters::default();
        let (table, bound) = (self.table_of(key), parameters.bind(&key));
        let expected = parameters.bind(&expected);
        let text = |holds: &str| {
            format!("DELETE FROM {table} WHERE key = {bound} AND {VERSION} = {expected}{holds}")
        };
        match self
            .repeat(key, parameters, text, &format!("remove {key:?}"))
            .await?
        {
            0 if self.version(key).await?.is_some() => Err(changed(key)),
            _ => Ok(()),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        check_key(from)?;
        check_key(to)?;
        let mut parameters = Parameters::default();
        let (origin, table) = (self.table_of(from), self.table_of(to));
        let (source, target) = (parameters.bind(&from), parameters.bind(&to));
        let text = |holds: &str| {
            format!(
                "INSERT INTO {table} (key, data, updated_at) \
                 SELECT {target}, data, now() FROM {origin} WHERE key = {source}{holds} \
                 ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, updated_at = now()"
            )
        };
        match self
            .repeat(to, parameters, text, &format!("copy {from:?}"))
            .await?
        {
            0 => Err(not_found(from)),
            _ => Ok(()),
        }
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.leases.take(name, None).await
    }

    fn cancellation_interval(&self) -> Duration {
        self.leases.interval()
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.leases.take(name, Some(purpose)).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.leases.break_held(name, owner).await
    }

    async fn break_ended_lock(&self, name: &str) -> Result<bool> {
        self.leases.break_ended(name).await
    }

    fn holds_locks(&self) -> bool {
        self.leases.are_held()
    }
}
